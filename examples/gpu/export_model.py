"""
Export a model and check that it stays the same
===============================================

A model that leaves Python should give the same outputs as before, and you should have seen that yourself.
You export a small classifier by ``torch.export``, save it, load it again, and compare its outputs over several batch sizes.
Then the same program becomes an ONNX file, which another program computes: the differences are drawn beside the rounding step of ``float32``.
ONNX needs the packages ``onnx`` and ``onnxscript``; without them the script says so and compares the rest.
"""

# %%
# Make a model
# ------------
#
# Weights at random are enough for a comparison.
# The model stays on the CPU, since a file is to be compared and no speed.
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.5),
    nn.Linear(128, 4),
).eval()
example = torch.randn(2, 1, 8, 8)
print("device: cpu, parameters:", sum(p.numel() for p in model.parameters()))

# %%
# Record the computation
# ----------------------
#
# The batch is declared as an axis that may vary; everything else is fixed by the example.
# The program lists tensor operations, without any module.
sizes = {0: torch.export.Dim("batch")}
exported = torch.export.export(model, (example,), dynamic_shapes=(sizes,))
for node in exported.graph.nodes:
    if node.op == "call_function":
        print(f"{node.name:14}", ("n", *node.meta["val"].shape[1:]))

# %%
# Save it and load it again
# -------------------------
#
# The file holds the program and its weights.
# A temporary folder keeps your own folder clean.
import tempfile
from pathlib import Path

folder = tempfile.TemporaryDirectory()
pt2, onnx_file = Path(folder.name, "model.pt2"), Path(folder.name, "model.onnx")
torch.export.save(exported, pt2)
runners = {"torch.export": torch.export.load(pt2).module()}
weights = sum(t.numel() * t.element_size() for t in model.state_dict().values())
print(f"weights {weights} bytes, file {'larger' if pt2.stat().st_size > weights else 'smaller'}")

# %%
# Turn it into ONNX
# -----------------
#
# The exporter takes the exported program, and ``onnx`` brings a plain interpreter in NumPy that is slow and good for checks.
# In production a runtime such as ``onnxruntime`` takes its place.
import logging
import warnings
from importlib.util import find_spec

missing = [name for name in ("onnx", "onnxscript") if find_spec(name) is None]
if missing:
    print("pip install", *missing, "to compare ONNX too")
else:
    for name in ("torch.onnx", "onnx_ir", "onnxscript"):
        logging.getLogger(name).setLevel(logging.ERROR)  # they log each step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls old names of its own
        written = torch.onnx.export(exported, dynamo=True, verbose=False)
    written.save(onnx_file)
    print("ONNX file written")

# %%
# Run the ONNX file
# -----------------
#
# The interpreter knows nothing of torch: arrays go in, arrays come out.
# The names of the operations are those of ONNX.
if not missing:
    import onnx
    from onnx.reference import ReferenceEvaluator

    graph = onnx.load(onnx_file).graph
    evaluator = ReferenceEvaluator(str(onnx_file))
    key = graph.input[0].name
    runners["ONNX"] = lambda x: torch.from_numpy(evaluator.run(None, {key: x.numpy()})[0])
    print("operations:", *(node.op_type for node in graph.node))

# %%
# Compare the outputs
# -------------------
#
# Other sizes than that of the example are the real test.
# Another order of summation may change the last bits, so ask for closeness and not for equality.
differences = {name: [] for name in runners}
batches = (1, 2, 3, 8, 17, 64)
for n in batches:
    x = torch.randn(n, 1, 8, 8)
    expected = model(x).detach()
    for name, run in runners.items():
        result = run(x).detach()
        torch.testing.assert_close(result, expected)
        differences[name].append((result - expected).abs().max().item())
print("all outputs close for batches of", *batches)

# %%
# Draw the differences
# --------------------
#
# The grey line is the rounding step of ``float32`` at 1: what lies near it is rounding, and no error of the export.
import matplotlib.pyplot as plt

name = "The largest difference of the outputs for each batch size stays near the rounding step."
fig, ax = plt.subplots(figsize=(4.8, 2.8), layout="constrained", num=name)
for marker, (label, values) in zip("os", differences.items(), strict=False):
    ax.plot(batches, values, marker=marker, label=label)
ax.axhline(torch.finfo(torch.float32).eps, color="0.5", linestyle="--", label="eps")
ax.set(xscale="log", xlabel="$n$", ylabel=r"max $|\Delta|$")
ax.legend(fontsize="small")
plt.show()
folder.cleanup()

# %%
# What you can do now
# -------------------
#
# - Export a model with a batch of any size, and load it without its class.
# - Turn the same program into ONNX, and check the file without another runtime.
# - Compare with a tolerance that rounding explains.
# - Test sizes that differ from the example's before you hand a file on.

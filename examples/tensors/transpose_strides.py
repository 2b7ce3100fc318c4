"""
See what a transpose does to strides
====================================

A transpose moves no element: it reads the same memory in another order.
You see the storage of a matrix and of its transpose, compute an element's address by hand, and learn why ``view`` refuses what ``reshape`` accepts.
Then you measure what mixing two orders costs, so that you know when a copy pays.
"""

# %%
# Look at one storage through two tensors
# ---------------------------------------
#
# The small number under a cell is its place in the storage, the pair at its top the index of the element that lies there.
# Both tensors use all six cells; only shape and strides are exchanged.
import matplotlib.pyplot as plt
import torch

from torchguide.figures import draw_shared_storage

x = torch.arange(6).reshape(2, 3)
ax = draw_shared_storage({"x": x, "x.T": x.T})
ax.figure.set_label(
    "A row of six cells, drawn twice: x numbers them row by row, x.T column by column."
)
plt.show()

# %%
# Compute an address by hand
# --------------------------
#
# A stride says how many cells to go for the next index on its axis.
# The element at :math:`(i, j)` lies in the cell :math:`o + i\,s_0 + j\,s_1`, with the storage offset :math:`o` and the strides :math:`s_0, s_1`.
cells = x.untyped_storage().nbytes() // x.element_size()
storage = x.as_strided((cells,), (1,), 0)  # the whole storage as one row

i, j = 1, 0
for name, tensor in {"x": x, "x.T": x.T}.items():
    (s0, s1), o = tensor.stride(), tensor.storage_offset()
    cell = o + i * s0 + j * s1
    print(f"{name:3} cell {o} + {i}*{s0} + {j}*{s1} = {cell} holds {storage[cell]};", end=" ")
    print(f"{name}[{i}, {j}] is {tensor[i, j]}")
print("device:", x.device)

# %%
# Change one tensor through the other
# -----------------------------------
#
# A transpose is a view: what you write through it appears in the original.
# ``clone`` ends that, if you want to keep the original.
y = x.clone()
y.T[2, 0] = 99

print(y)
print("x is unchanged:", x.tolist())

# %%
# See why view refuses
# --------------------
#
# Read row by row, the transpose jumps back and forth in its storage, and no single stride describes that order.
# ``view`` never copies, so it fails; ``reshape`` copies when it must.
print("contiguous:", x.is_contiguous(), x.T.is_contiguous())
try:
    x.T.view(6)
except RuntimeError as error:
    print(error)

flat = x.T.reshape(6)
print("reshape:", flat.tolist())
print("same memory:", flat.data_ptr() == x.data_ptr())

# %%
# Measure what another order costs
# --------------------------------
#
# Two tensors in the same order are walked through together, whichever order it is.
# In ``x + x.T`` the orders differ: one of the two must be read in jumps, and most of each cache line is fetched in vain.
# Bringing the transpose into the order of ``x`` is a copy, which pays when you need the result more than once.
from torchguide.timing import format_seconds, measure

x = torch.rand(2048, 2048, generator=torch.Generator().manual_seed(0))
operations = {
    "x + x": lambda: x + x,
    "x.T + x.T": lambda: x.T + x.T,
    "x + x.T": lambda: x + x.T,
    "x.T.contiguous()": x.T.contiguous,
}
times = {name: measure(function, repeats=10) for name, function in operations.items()}
for name, measured in times.items():
    print(f"{name:17} {format_seconds(measured.best)}")

# %%
# Draw the cost
# -------------
#
# Each bar is the best of ten samples, because other programs can only make a sample longer.
# The whisker reaches to the median: a long one says that the machine was busy.
name = "x + x.T takes several times as long as x + x and x.T + x.T; x.T.contiguous() lies between."
fig, ax = plt.subplots(figsize=(4.5, 2.6), layout="constrained", num=name)
best = [1e3 * measured.best for measured in times.values()]
above = [1e3 * (measured.median - measured.best) for measured in times.values()]
ax.barh(list(times), best, xerr=[[0] * len(best), above], color="C0", ecolor="0.3", capsize=3)
ax.invert_yaxis()
ax.set(xlabel="ms")
plt.show()

# %%
# What you can do now
# -------------------
#
# - Compute from strides and offset where an element lies.
# - Tell a view from a copy by ``data_ptr()``, or by writing through it.
# - Choose between ``view``, which fails rather than copy, and ``reshape``, which copies when it must.
# - Call ``contiguous()`` before you combine a large transpose with a tensor in another order.

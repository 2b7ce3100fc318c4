from __future__ import annotations

import pytest

from torchguide.errors import explain

# wordings of different versions and programs, with what stands around them
WORDINGS = [
    (
        "driver-too-old",
        "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 10010). Please update\nTraceback (most recent call last):\nRuntimeError: No CUDA GPUs are available",
    ),
    (
        "dataloader-pickle",
        "Traceback (most recent call last):\nAttributeError: Can't pickle local object 'f.<locals>.<lambda>'\nTraceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nEOFError: Ran out of input",
    ),
    (
        "no-kernel-image",
        "NVIDIA GeForce RTX 4090 with CUDA capability sm_89 is not compatible with the current PyTorch installation.\nRuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    ),
    (
        "dtype-mismatch",
        "RuntimeError: Input type (float) and weight type (c10::Half) should be the same",
    ),
    (
        "dtype-mismatch",
        "RuntimeError: Input type (c10::BFloat16) and bias type (float) should be the same",
    ),
    (
        "dtype-mismatch",
        "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) should be the same",
    ),
    (
        "device-mismatch",
        "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    ),
    (
        "device-mismatch",
        "RuntimeError: Expected object of backend CUDA but got backend CPU for argument #2 'mat1'",
    ),
    (
        "device-mismatch",
        "RuntimeError: Expected object of type torch.cuda.FloatTensor but found type torch.FloatTensor for argument #1 'mat1'",
    ),
    (
        "dtype-mismatch",
        "RuntimeError: Expected object of type torch.FloatTensor but found type torch.DoubleTensor for argument #2 'mat2'",
    ),
    (
        "dtype-mismatch",
        "RuntimeError: Expected object of scalar type Long but got scalar type Float for argument #2 'target' in call to _thnn_nll_loss_forward",
    ),
    ("device-mismatch", "RuntimeError: expected device cuda:0 but got device cpu"),
    (
        "dist-port-in-use",
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: true, code: -98, name: EADDRINUSE, message: address already in use",
    ),
    (
        "torchvision-mismatch",
        "RuntimeError: Failed to import transformers.models.auto because of the following error (look up to see its traceback):\noperator torchvision::nms does not exist",
    ),
    (
        "state-dict-mismatch",
        'RuntimeError: Error(s) in loading state_dict for DataParallel: Missing key(s) in state_dict: "module.conv1.weight", "module.bn1.weight".\nUnexpected key(s) in state_dict: "state_dict".',
    ),
    (
        "state-dict-module-prefix",
        'RuntimeError: Error(s) in loading state_dict for VGG:\nMissing key(s) in state_dict: "features.0.weight", "features.0.bias"...\nUnexpected key(s) in state_dict: "module.features.0.weight", "module.features.0.bias"...',
    ),
    (
        "embedding-index-out-of-range",
        "RuntimeError: index out of range at /home/user/conda-bld/pytorch_1550796191843/source/aten/src/TH/generic/THTensorEvenMoreMath.cpp:193",
    ),
    (
        "cuda-oom",
        "torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\nCurrently allocated     : 5.97 GiB",
    ),
    ("cuda-oom", "RuntimeError: CUDA error:out of memory"),
    (
        "cuda-oom",
        "THCudaCheck FAIL file=/torch/lib/THC/generic/THCStorage.cu line=66 error=2 : out of memory",
    ),
    ("cuda-unavailable-cpu-wheel", "torch.cuda.is_available() returns False"),
    (
        "cuda-unavailable-cpu-wheel",
        "PyTorch version: 2.1.0+cpu\nIs debug build: False\nCUDA used to build PyTorch: None\nIs CUDA available: False",
    ),
    (
        "cuda-unavailable-other",
        "PyTorch version: 2.1.0+cu121\nIs debug build: False\nCUDA used to build PyTorch: 12.1\nIs CUDA available: False",
    ),
    (
        "dll-load-failed",
        '  import torch\n  File "D:\\a\\site-packages\\torch\\__init__.py", line 124\n    from torch._C import *\nImportError: DLL load failed: 找不到指定的模块。',
    ),
    (
        "windows-paging-file",
        'OSError: [WinError 1455] 页面文件太小，无法完成操作。 Error loading "D:\\torch\\lib\\cudnn_adv_infer64_8.dll" or one of its dependencies.',
    ),
    (
        "dataloader-spawn-main-guard",
        "RuntimeError: \n        An attempt has been made to start a new process before the\n        current process has finished its bootstrapping phase.\n\nTraceback (most recent call last):\nRuntimeError: DataLoader worker (pid(s) 12344, 5678) exited unexpectedly",
    ),
    (
        "nccl-system-error",
        "RuntimeError: NCCL error in: /home/user/conda-bld/pytorch/source/torch/lib/c10d/ProcessGroupNCCL.cpp:784, unhandled system error, NCCL version 2.7.8",
    ),
    (
        "nccl-timeout",
        "[E ProcessGroupNCCL.cpp:828] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802710 milliseconds before timing out.\nterminate called after throwing an instance of 'std::runtime_error'",
    ),
    (
        "nccl-timeout",
        "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: store_based_barrier_key:1 (world_size=2, worker_count=1, timeout=0:30:00)",
    ),
    (
        "rendezvous-failed",
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/2 clients joined.",
    ),
    (
        "compile-c-compiler-missing",
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nCalledProcessError: Command '['/usr/bin/gcc', '/build/main.c', '-O3']' returned non-zero exit status 1.",
    ),
    (
        "compile-triton-missing",
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nModuleNotFoundError: No module named 'triton'",
    ),
    (
        "compile-graph-break",
        "torch._dynamo.exc.InternalTorchDynamoError: 'NoneType' object has no attribute 'foo'",
    ),
    (
        "neg-lfs-pointer-checkpoint",
        "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
    ),
    (
        "checkpoint-file-damaged",
        "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer",
    ),
    (
        "neg-pip-network",
        "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='x', port=443): Read timed out.",
    ),
    (
        "no-matching-distribution",
        "ERROR: Could not find a version that satisfies the requirement torch>=2.0 (from versions: 1.4.0, 1.5.0)\nERROR: No matching distribution found for torch>=2.0",
    ),
    (
        "neg-nonexistent-version",
        "ERROR: Could not find a version that satisfies the requirement torch==2.9.5 (from versions: 2.6.0)\nERROR: No matching distribution found for torch==2.9.5",
    ),
    (
        "illegal-memory-access",
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory access was encountered\nException raised from create_event_internal at ../c10/cuda/CUDACachingAllocator.cpp:1211 (most recent call first):",
    ),
    (
        "fork-cuda-reinit",
        "RuntimeError: Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\nRuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
    ),
    (
        "device-side-assert-label",
        "RuntimeError: cuda runtime error (59) : device-side assert triggered at /pytorch/aten/src/THC/generic/THCTensorMath.cu:26",
    ),
    (
        "half-not-implemented-cpu",
        "RuntimeError: \"LayerNormKernelImpl\" not implemented for 'Half'",
    ),
    (
        "dtype-mismatch",
        "RuntimeError: \"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Float'",
    ),
    (
        "torch-load-weights-only",
        "_pickle.UnpicklingError: Weights only load failed. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code execution.Do it only if you get the file from a trusted source. WeightsUnpickler error: Unsupported class numpy.core.multiarray.scalar",
    ),
    (
        "numpy2-incompatible",
        "UserWarning: Failed to initialize NumPy: _ARRAY_API not found (Triggered internally at ../torch/csrc/utils/tensor_numpy.cpp:84.)",
    ),
    ("too-many-open-files", "OSError: [Errno 24] Too many open files"),
    (
        "dataloader-shm",
        "RuntimeError: unable to open shared memory object </torch_1234_5678> in read-write mode",
    ),
    (
        "missing-cuda-library",
        "OSError: libcublas.so.11: cannot open shared object file: No such file or directory",
    ),
    (
        "missing-cuda-library",
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory",
    ),
    (
        "undefined-symbol",
        "ImportError: /env/lib/python3.10/site-packages/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12",
    ),
    (
        "no-module-torch-build-isolation",
        '  File "<string>", line 2, in <module>\n  File "/build/pip-install-x/setup.py", line 11\n    import torch\nModuleNotFoundError: No module named \'torch\'\nerror: metadata-generation-failed',
    ),
    (
        "conda-solve",
        "LibMambaUnsatisfiableError: Encountered problems while solving:\n  - nothing provides cuda 11.8.* needed by pytorch-cuda-11.8",
    ),
    (
        "nvcc-unsupported-arch",
        "nvcc fatal   : Unsupported gpu architecture 'compute_89'\nninja: build stopped: subcommand failed.\nRuntimeError: Error compiling objects for extension",
    ),
    (
        "cuda-version-mismatch-build",
        "RuntimeError: \nThe detected CUDA version (12.1) mismatches the version that was used to compile\nPyTorch (11.7). Please make sure to use the same CUDA versions.\n",
    ),
    (
        "docker-gpu-runtime",
        "docker: Error response from daemon: failed to create task for container: nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown.",
    ),
    (
        "glibc-too-old",
        "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.28' not found (required by /home/u/miniconda3/lib/python3.11/site-packages/torch/lib/libtorch_python.so)",
    ),
    (
        "neg-nvidia-driver",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.",
    ),
    ("neg-jax", "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: cuDNN failed"),
    (
        "neg-tensorflow",
        "2020-01-01 W tensorflow/stream_executor/cuda/cuda_driver.cc:312] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
    ),
    (
        "neg-tensorflow",
        "tensorflow.python.framework.errors_impl.InternalError: CUDA runtime implicit initialization on GPU:0 failed. Status: out of memory",
    ),
    (
        "neg-tensorflow",
        "tensorflow.python.framework.errors_impl.InternalError: cudaGetDevice() failed. Status: CUDA driver version is insufficient for CUDA runtime version",
    ),
    (
        "neg-tensorflow",
        "2020 E tensorflow/stream_executor/cuda/cuda_dnn.cc:329] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
    ),
    (
        "neg-not-pytorch-library",
        "paddle.fluid.core_avx.EnforceNotMet: CUDA error(35), CUDA driver version is insufficient for CUDA runtime version",
    ),
    (
        "neg-not-pytorch-library",
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,000 bytes",
    ),
    (
        "neg-not-pytorch-library",
        "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
    ),
    (
        "neg-not-pytorch-library",
        "onnxruntime::Provider& ... [ONNXRuntimeError] : 1 : FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open shared object file: No such file or directory",
    ),
    ("neg-not-pytorch-library", "RuntimeError: CUDA error: out of memory (ggml_cuda)"),
    (
        "neg-not-pytorch-library",
        "ImportError: DLL load failed while importing cv2: The specified module could not be found.",
    ),
    (
        "neg-user-data",
        "FileNotFoundError: [Errno 2] No such file or directory: 'weights/yolov5s.pt'",
    ),
    (
        "neg-user-data",
        'RuntimeError: Caught FileNotFoundError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n  File "/site-packages/torch/utils/data/_utils/worker.py", line 287\nFileNotFoundError: Caught FileNotFoundError\n',
    ),
    ("neg-not-pytorch", "ModuleNotFoundError: No module named 'mmcv'"),
    (
        "neg-hub-network",
        "OSError: We couldn't connect to 'https://huggingface.co' to load this file, couldn't find it in the cached files",
    ),
    (
        "neg-lua-torch",
        "THCudaCheck FAIL file=/build/luarocks_cutorch-scm-1-5301/cutorch/lib/THC/generic/THCStorage.cu line=66 error=2 : out of memory\n/root/torch/install/bin/luajit: cuda runtime error (2) : out of memory",
    ),
    ("neg-unknown-crash", "Segmentation fault (core dumped)"),
]


@pytest.mark.parametrize(("kind", "text"), WORDINGS)
def test_a_wording_is_recognised(kind, text):
    matches = explain(text)
    assert matches[0].id == kind


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_program_without_torch_is_not_told_to_build_something(language):
    plain = "Traceback (most recent call last):\nModuleNotFoundError: No module named 'torch'"
    answer = explain(plain, language)[0]
    assert "python -m pip install torch" in answer.fix
    assert "--no-build-isolation" not in answer.fix
    build = f"Getting requirements to build wheel ... error\n{plain}"
    assert "--no-build-isolation" in explain(build, language)[0].fix


def test_another_module_that_is_missing_is_not_torch():
    for text in ("No module named 'torchaudio'", "No module named 'torch_scatter'"):
        matches = explain(f"ModuleNotFoundError: {text}")
        assert all("Python that runs the program" not in match.title for match in matches)

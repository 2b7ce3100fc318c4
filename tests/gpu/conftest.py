from __future__ import annotations

import pytest
import torch


@pytest.fixture(scope="session")
def accelerator() -> torch.device:
    """Give this machine's accelerator. None is a failure: this folder runs where one is promised."""
    if torch.accelerator.is_available():
        device = torch.accelerator.current_accelerator()
        assert device is not None
        return device
    pytest.fail(
        f"no accelerator: torch {torch.__version__} (CUDA {torch.version.cuda}) sees none. "
        "Run `torchguide doctor` to see why."
    )

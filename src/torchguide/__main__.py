"""Run the command line with `python -m torchguide`."""

from __future__ import annotations

import sys

from torchguide.cli import main

if __name__ == "__main__":
    sys.exit(main())

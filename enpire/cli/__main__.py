"""`python -m enpire.cli VERB ...`: as `enpire VERB ...`, by the interpreter that is named."""

from __future__ import annotations

import sys

from enpire.cli import main

if __name__ == "__main__":
    sys.exit(main())

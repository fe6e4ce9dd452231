"""``python -m spanforest`` is the command ``spanforest``."""

import sys

from spanforest.cli import main

if __name__ == "__main__":
    sys.exit(main())

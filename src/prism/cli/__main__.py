"""`python -m prism.cli`."""

import sys

from prism.cli import main

if __name__ == "__main__":
    sys.exit(main())

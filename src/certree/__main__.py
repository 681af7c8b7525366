"""`python -m certree` is the command `certree`."""

import sys

from certree.cli import main

if __name__ == "__main__":
    sys.exit(main())

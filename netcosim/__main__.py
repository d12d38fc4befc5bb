"""``python -m netcosim`` is the command ``netcosim``."""

import sys

from netcosim.cli import main

sys.exit(main())

"""Rewrite a config of an earlier version for this one.

  netcosim config upgrade OLD.toml
  netcosim config upgrade OLD.toml --out NEW.toml

Keys are renamed where they are, so that comments stay; keys that nothing reads are left out. Each
change is printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "rewrite a config of an earlier version"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim config``."""
    parser.add_argument("action", choices=("upgrade",))
    parser.add_argument("config", metavar="OLD.toml")
    parser.add_argument("--out", metavar="NEW.toml", help="by default the file itself")


def run(args: argparse.Namespace) -> int:
    """Write the file, and print what changed."""
    from netcosim.config.load import MAX_FILE_BYTES
    from netcosim.config.upgrade import upgraded
    from netsim.files import read_text, write_text

    path, out = Path(args.config), Path(args.out or args.config)
    text, lines = upgraded(read_text(path, limit_bytes=MAX_FILE_BYTES), path)
    write_text(out, text)
    print("\n".join(lines) or "nothing to change")
    print(out)
    return 0

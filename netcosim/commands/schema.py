"""Print the JSON schema of configs, with which editors complete and check keys and names.

  netcosim schema --out netcosim.schema.json
  netcosim schema --plugin my_policy.py --out netcosim.schema.json     with the plug-in's names

A config whose first line is "#:schema ./netcosim.schema.json" is checked by editors that use
Taplo (VS Code: Even Better TOML), without a network connection.
"""

from __future__ import annotations

import argparse

HELP = "print the JSON schema of configs, for editors"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``netcosim schema``."""
    parser.add_argument("--out", metavar="FILE.json", help="write it to a file")


def run(args: argparse.Namespace) -> int:
    """Print or write the schema."""
    from netcosim.config.schema import schema_text
    from netsim.files import write_text

    if args.out is None:
        print(schema_text(), end="")
    else:
        write_text(args.out, schema_text())
        print(args.out)
    return 0

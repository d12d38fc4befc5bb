"""One module a subcommand: ``HELP``, ``add_arguments(parser)`` and ``run(args) -> int``.

A module is a subcommand by being here; the command's name is the module's, with dashes. Its
top level imports nothing heavy, since ``netcosim --help`` loads them all.
"""

"""One module for each command in the table of `holdfast.cli.main`: `add_arguments(parser)` and `run(args) -> int`."""

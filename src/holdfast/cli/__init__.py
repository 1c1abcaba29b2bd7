"""The command line: a visible table of commands (`main`), one file a command."""

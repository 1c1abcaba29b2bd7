"""`python -m holdfast` and the `holdfast` program."""

from __future__ import annotations

import sys


def main() -> None:
    from holdfast.cli.main import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()

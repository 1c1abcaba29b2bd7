"""`holdfast causes [SLUG]`: the list of causes, or the long page of one."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("slug", metavar="SLUG", nargs="?", help="a cause, such as killed-for-memory")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    from holdfast.explain.causes import BY_SLUG, CAUSES

    if args.slug is None:
        print(_as_json() if args.json else _listed())
        return 0
    cause = BY_SLUG.get(args.slug)
    if cause is None:
        from holdfast.errors import UsageError, nearest

        close = nearest(args.slug, (one.slug for one in CAUSES))
        raise UsageError(
            f"unknown cause {args.slug!r}",
            where="the command line",
            change=f"holdfast causes {close}" if close else "holdfast causes lists them all",
        )
    print(f"{cause.slug}  ({cause.group})\n{cause.brief}\n\n{cause.page}", end="")
    return 0


def _listed() -> str:
    import textwrap

    from holdfast.explain.causes import CAUSES

    lines: list[str] = []
    group = ""
    for cause in CAUSES:
        if cause.group != group:
            lines += ([""] if group else []) + [cause.group]
            group = cause.group
        lines += textwrap.wrap(
            f"{cause.slug:30} {cause.brief}",
            100,
            initial_indent="  ",
            subsequent_indent=" " * 33,
            break_on_hyphens=False,
        )
    return "\n".join([*lines, "", "holdfast causes SLUG prints the page of one."])


def _as_json() -> str:
    import json

    from holdfast.explain.causes import CAUSES

    rows = [{"cause": one.slug, "group": one.group, "what": one.brief} for one in CAUSES]
    return json.dumps(rows, indent=1, ensure_ascii=False)

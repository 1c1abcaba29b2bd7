"""`holdfast data …`: other formats, a cleaned copy, a page to look at, smaller pictures, batches for other machines."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from holdfast.cli import data_pack
from holdfast.cli.arguments import PORT, PROCESSES, whole
from holdfast.cli.patience import patience
from holdfast.errors import ExitCode, UsageError

HELP = "convert a dataset, write a cleaned copy, or look at it"
_FORMATS = ("coco", "voc", "labelme", "yolo", "tfrecord", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="convert|repair|inspect|pack|serve")
    convert = actions.add_parser("convert", help="write the dataset in another format")
    convert.add_argument("source", metavar="SRC")
    convert.add_argument("destination", metavar="DST")
    convert.add_argument("--to", required=True, metavar="FORMAT", help="coco, voc, yolo or tfrecord")
    convert.add_argument("--annotations-only", action="store_true", help="leave the pictures where they are")
    convert.add_argument(
        "--shards",
        type=whole(1, most=99999, such_as=8),
        metavar="N",
        help="of each split; by size when left out",
    )
    convert.add_argument(
        "--processes", type=PROCESSES, metavar="N", help="that write shards; all cores when left out"
    )
    repair = actions.add_parser(
        "repair", help="write a cleaned copy and a list of what was changed or left out"
    )
    repair.add_argument("source", metavar="SRC")
    repair.add_argument("destination", metavar="DST")
    repair.add_argument(
        "--to", metavar="FORMAT", help="coco, voc, yolo or tfrecord; as the source when left out"
    )
    inspect = actions.add_parser("inspect", help="write one HTML page of pictures, tables and plots")
    inspect.add_argument("source", metavar="SRC")
    inspect.add_argument("--out", metavar="FILE", default="dataset.html", help="the page (dataset.html)")
    inspect.add_argument(
        "--pictures",
        type=whole(0, such_as=48),
        default=48,
        metavar="N",
        help="how many pictures to show (48)",
    )
    data_pack.add_arguments(actions.add_parser("pack", help=data_pack.HELP))
    serve = actions.add_parser("serve", help="make batches for trainings on other machines (tf.data service)")
    serve.add_argument("--port", type=PORT, default=5050, help="to listen on (5050); 0 takes a free one")
    serve.add_argument("--host", help="as the clients know this machine (localhost)")
    serve.add_argument(
        "--allow-any-client",
        action="store_true",
        help="listen to other machines too: whoever reaches the ports can read and write your files",
    )
    for each in (convert, repair, inspect):
        each.add_argument("--format", choices=_FORMATS, help="read the source as this instead of finding out")
        each.add_argument("--overwrite", action="store_true", help="replace what is already there")
        each.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    if args.action == "pack":
        return data_pack.run(args)
    if args.action == "serve":
        return _serve(args)
    action = {"convert": _convert, "repair": _repair, "inspect": _inspect}[args.action]
    with patience(f"reading {args.source} and writing {getattr(args, 'destination', None) or args.out}"):
        result, text = action(args)
    print(json.dumps(result, ensure_ascii=False) if args.json else text)
    return ExitCode.FINE


def _serve(args: argparse.Namespace) -> int:
    import os
    import socket

    from holdfast.pipeline.loopback import is_loopback

    if args.host and not is_loopback(args.host) and not args.allow_any_client:
        raise UsageError(
            "other machines are not served without --allow-any-client",
            where="the command line",
            found=f"--host {args.host}; whoever reaches the ports can read and write your files",
            change=[
                "leave --host out, and forward the two ports: ssh -L 5050:localhost:5050 -L 5051:localhost:5051",
                "--allow-any-client, in a network where you trust every machine and user",
            ],
        )
    os.environ.update(CUDA_VISIBLE_DEVICES="-1")  # it decodes pictures; a card is not for that
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from holdfast.pipeline import service

    host = args.host or (socket.gethostname() if args.allow_any_client else "localhost")
    service.serve(host, args.port, any_client=args.allow_any_client, say=lambda text: print(text, flush=True))
    return ExitCode.FINE


def _convert(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from holdfast.data.convert import Options, convert
    from holdfast.data.shown import in_a_line

    options = Options(
        args.overwrite, args.annotations_only, args.shards,
        processes=args.processes,
    )  # fmt: skip
    converted = convert(args.source, args.destination, args.to, format=args.format, options=options)
    dataset = converted.dataset
    counts = {"images": len(dataset.records), "boxes": dataset.boxes, "classes": list(dataset.classes)}
    text = (
        f"{args.destination}: {len(dataset.records)} pictures and {dataset.boxes} boxes, "
        f"from {dataset.format} to {args.to}"
    )
    return {
        "source": args.source,
        "destination": args.destination,
        "from": dataset.format,
        "to": args.to,
        **counts,
        "findings": [finding.as_json() for finding in converted.findings],
    }, "\n".join([text, *map(in_a_line, converted.findings)])


def _repair(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from holdfast.data.repair import CHANGES, repair
    from holdfast.data.shown import in_a_line

    repaired = repair(args.source, args.destination, to=args.to, format=args.format, overwrite=args.overwrite)
    counted = Counter((change.done, change.what, change.reason) for change in repaired.changes)
    rows = [
        {"done": done, "what": what, "reason": reason, "count": count}
        for (done, what, reason), count in counted.most_common()
    ]
    lines = [
        f"{args.destination}: {len(repaired.dataset.records)} pictures and {repaired.dataset.boxes} boxes"
    ]
    lines += [f"  {row['count']:>6} {row['done']:<9} {row['what']} ({row['reason']})" for row in rows]
    lines.append(
        f"every one of them is in {args.destination}/{CHANGES}" if rows else "nothing had to be changed"
    )
    lines += map(in_a_line, repaired.findings)
    result = {
        "destination": args.destination,
        "images": len(repaired.dataset.records),
        "boxes": repaired.dataset.boxes,
        "changes": rows,
        "findings": [finding.as_json() for finding in repaired.findings],
    }
    return result, "\n".join(lines)


def _inspect(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from holdfast.data.inspect import inspect

    page = inspect(
        args.source, args.out, format=args.format, pictures=args.pictures, overwrite=args.overwrite
    )
    return {"page": page}, f"the page is {page}"

"""`holdfast data serve`: decodes and augments batches for trainings on other machines."""

from __future__ import annotations

import argparse

from holdfast.cli.arguments import PORT
from holdfast.errors import ExitCode, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=PORT, default=5050, help="port to listen on (default: 5050); 0 takes any free port"
    )
    parser.add_argument("--host", help="the name of this machine for its clients (default: localhost)")
    parser.add_argument(
        "--allow-any-client",
        action="store_true",
        help="listen to other machines too: anyone who can reach the ports can read and write your files",
    )


def run(args: argparse.Namespace) -> int:
    import os
    import socket

    from holdfast.pipeline.loopback import is_loopback

    if args.host and not is_loopback(args.host) and not args.allow_any_client:
        raise UsageError(
            "other machines are not served without --allow-any-client",
            where="the command line",
            found=f"--host {args.host}; anyone who can reach the ports can read and write your files",
            change=[
                "leave out --host, and forward the two ports: ssh -L 5050:localhost:5050 -L 5051:localhost:5051",
                "--allow-any-client, in a network where you trust every machine and user",
            ],
        )
    os.environ.update(CUDA_VISIBLE_DEVICES="-1")  # it decodes images on the CPU
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from holdfast.pipeline import data_service

    host = args.host or (socket.gethostname() if args.allow_any_client else "localhost")
    data_service.serve(
        host, args.port, any_client=args.allow_any_client, say=lambda text: print(text, flush=True)
    )
    return ExitCode.FINE

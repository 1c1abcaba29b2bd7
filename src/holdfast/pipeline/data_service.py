"""Batches made on other machines, by tf.data service.

Every address is a dispatcher with one worker (`holdfast data serve`), and makes every n-th run of steps. The order in
which they are taken is fixed, so the batches and their order are those of one machine, whatever the number of servers,
and a resumed run may use another number. (tf.data service by itself hands out what is ready first.)
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from holdfast.errors import DataError
from holdfast.pipeline import loopback

CONNECT_S = 5.0
UNDER_WAY = 2  # batches that the client asks each server for ahead


def merged_dataset(part: Callable[[int], Any], addresses: tuple[str, ...], steps_at_once: int) -> Any:
    """One dataset of what the servers make; `part(i)` is the dataset of the i-th, in runs of `steps_at_once` steps."""
    service = tf.data.experimental.service
    parts = [
        part(index).apply(
            service.distribute(
                service.ShardingPolicy.OFF, f"grpc://{address}", max_outstanding_requests=UNDER_WAY
            )
        )
        for index, address in enumerate(addresses)
    ]
    turns = tf.data.Dataset.range(len(addresses)).repeat()
    choice = turns.flat_map(lambda turn: tf.data.Dataset.from_tensors(turn).repeat(steps_at_once))
    return tf.data.Dataset.choose_from_datasets(parts, choice, stop_on_empty_dataset=True)


def require_reachable(addresses: tuple[str, ...]) -> None:
    """Raises where a server does not answer: tf.data's client would wait for it without end and without a word."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        flag = "" if loopback.is_loopback(host) else " --allow-any-client"
        try:
            with socket.create_connection((host, int(port)), timeout=CONNECT_S):
                pass
        except OSError as error:
            raise DataError(
                f"the data server {address} does not answer",
                where="hardware.data_service",
                found=error.strerror or str(error) or type(error).__name__,
                change=[
                    f"start it there: holdfast data serve --port {port}{flag}",
                    "leave hardware.data_service out, and the images are decoded on this machine",
                ],
            ) from None


def serve(host: str, port: int, *, any_client: bool = False, say: Callable[[str], None]) -> None:
    """A dispatcher and a worker in this process, until a signal stops it; for this machine alone by default."""
    if not any_client:
        _refuse_unless(loopback.try_out)
    servers = _started(host, port, any_client=any_client)
    ports = loopback.listening_ports()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    address = f"{host}:{servers[0].target.rpartition(':')[2]}"
    clients = "every machine that reaches it" if any_client else "programs on this machine only"
    say(f"serving batches on {address}, to {clients}; a recipe uses it by")
    say(f'\n[hardware]\ndata_service = ["{address}"]\n')
    say(risk(ports, any_client=any_client, root=os.geteuid() == 0))
    while not stopped.wait(0.5):  # a wait without end would not be left for a signal
        pass
    say("stopped")
    del servers


def risk(ports: tuple[int, ...], *, any_client: bool, root: bool) -> str:
    """What a client can do: tf.data service runs the graph that it sends, and a graph reads and writes files."""
    which = f" ({', '.join(map(str, ports))})" if ports else ""
    who = "from any network that leads here" if any_client else "other users of this machine too"
    text = f"whoever reaches these ports{which} can read and write your files, {who}: there is no password"
    return f"{text}. As root, these are all files of this machine" if root else text


def _started(host: str, port: int, *, any_client: bool) -> tuple[Any, Any]:
    """The worker has the next port, so that both can be forwarded or opened in a firewall."""
    service = tf.data.experimental.service
    beside = port + 1 if 0 < port < 65535 else 0
    try:
        for number in (port, beside):
            _refuse_taken(number)
        dispatcher = service.DispatchServer(service.DispatcherConfig(port=port))
        _keep_here(any_client)
        there = int(dispatcher.target.rpartition(":")[2])
        worker = service.WorkerServer(
            service.WorkerConfig(
                dispatcher_address=f"localhost:{there}", worker_address=f"{host}:%port%", port=beside
            )
        )
        _keep_here(any_client)
    except (tf.errors.OpError, RuntimeError, OSError) as error:
        raise DataError(
            f"no data server can be started on port {port}" + (f" and {beside}" if beside else ""),
            found=str(error).splitlines()[0][:200],
            change="--port with another number: another program probably has this one",
        ) from None
    return dispatcher, worker


def _refuse_taken(port: int) -> None:
    """TensorFlow would share it with another server of the same user, and each would get some of the requests."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("", port))


def _keep_here(any_client: bool) -> None:
    """TensorFlow has opened its port to all networks: close it to them, and see that nobody came in between."""
    if any_client:
        return

    def keep() -> None:
        strangers = loopback.from_outside(loopback.restrict())
        if strangers:
            raise OSError(f"{strangers[0]} connected while the server started")

    _refuse_unless(keep)


def _refuse_unless(kept: Callable[[], None]) -> None:
    try:
        kept()
    except OSError as error:
        raise DataError(
            "the data server cannot be kept to this machine, so it is not started",
            found=error.strerror or str(error),
            change=[
                "start it again",
                "--allow-any-client, where you trust every machine and user that reaches its ports: "
                "they can read and write your files",
            ],
        ) from None

"""Batches made on other machines, by tf.data service.

Every address is a dispatcher with one worker (`holdfast data serve`), and makes every n-th run of steps. The order in
which they are taken is fixed, so the batches and their order are those of one machine, whatever the number of servers,
and a resumed run may use another number. (tf.data service by itself hands out what is ready first.)
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from holdfast.errors import DataError

CONNECT_S = 5.0
UNDER_WAY = 2  # batches that the client asks each server for ahead


def joined(part: Callable[[int], Any], addresses: tuple[str, ...], steps_at_once: int) -> Any:
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


def reach(addresses: tuple[str, ...]) -> None:
    """Raises where a server does not answer: tf.data's client would wait for it without end and without a word."""
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=CONNECT_S):
                pass
        except OSError as error:
            raise DataError(
                f"the data server {address} does not answer",
                where="hardware.data_service",
                found=error.strerror or str(error) or type(error).__name__,
                change=[
                    f"start it there: holdfast data serve --port {port}",
                    "leave hardware.data_service out, and the pictures are decoded on this machine",
                ],
            ) from None


def serve(host: str, port: int, *, say: Callable[[str], None]) -> None:
    """A dispatcher and a worker in this process, until it is told to stop."""
    service = tf.data.experimental.service
    try:
        dispatcher = service.DispatchServer(service.DispatcherConfig(port=port))
        there = int(dispatcher.target.rpartition(":")[2])
        worker = service.WorkerServer(
            service.WorkerConfig(
                dispatcher_address=f"localhost:{there}", worker_address=f"{host}:%port%", port=0
            )
        )
    except (tf.errors.OpError, RuntimeError) as error:
        raise DataError(
            f"no data server can be started on port {port}",
            found=str(error).splitlines()[0][:200],
            change="--port with another number: another program probably has this one",
        ) from None
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    say(f"serving batches on {host}:{there}; a recipe uses it by")
    say(f'\n[hardware]\ndata_service = ["{host}:{there}"]\n')
    while not stopped.wait(0.5):  # a wait without end would not be left for a signal
        pass
    say("stopped")
    del worker, dispatcher

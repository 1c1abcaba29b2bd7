"""Batches made by other processes through tf.data service: the same ones, in the same order."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.pipeline.rectangles import random_rectangles
from tests.pipeline.test_stream import SMALL, first, same

from holdfast.errors import DataError, UndecodableImage
from holdfast.pipeline import columns, service
from holdfast.pipeline.stream import BadImage, Stream

pytestmark = pytest.mark.hot


@contextmanager
def server() -> Iterator[str]:
    command = [sys.executable, "-m", "holdfast", "data", "serve", "--port", "0", "--host", "localhost"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        assert process.stdout is not None
        found = re.search(r"localhost:\d+", process.stdout.readline())
        assert found is not None
        yield found.group()
    finally:
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=60)[0]
        assert process.returncode == 0
        assert rest.endswith("stopped\n")


def test_two_servers_give_the_batches_of_one_machine_from_any_step_on(
    folder_of: Callable, tmp_path: object
) -> None:
    data = columns.of_dataset(folder_of(random_rectangles(13), ".jpg"))
    here = Stream(data, SMALL)
    steps = 2 * here._at_once + 3  # past the turn of the second server
    whole = first(steps, here.numpy_batches())
    with server() as one, server() as two:
        service.reach((one, two))
        assert same(first(steps, Stream(data, SMALL, servers=(one, two)).numpy_batches()), whole)
        assert same(first(5, Stream(data, SMALL, servers=(two,)).numpy_batches(7)), whole[7:12])
        _a_bad_picture_is_named(folder_of, one)


def _a_bad_picture_is_named(folder_of: Callable, address: str) -> None:
    dataset = folder_of(random_rectangles(5), ".jpg", name="bad")
    path = dataset.records[2].picture.path
    whole = open(path, "rb").read()  # noqa: SIM115
    open(path, "wb").write(whole[:300])  # noqa: SIM115
    data = columns.of_dataset(dataset)
    told: list[BadImage] = []
    stream = Stream(data, SMALL, servers=(address,), skip_bad=1, on_bad=told.append)
    assert len(first(2, stream.numpy_batches())) == 2
    assert [bad.name for bad in told] == [path]
    with pytest.raises(UndecodableImage, match="0002"):
        first(2, Stream(data, SMALL, servers=(address,)).numpy_batches())


def test_a_server_that_is_not_there_is_said_before_anything_waits_for_it() -> None:
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        port = taken.getsockname()[1]
    with pytest.raises(DataError) as raised:
        service.reach((f"localhost:{port}",))
    assert raised.value.what == f"the data server localhost:{port} does not answer"
    assert raised.value.change[0] == f"start it there: holdfast data serve --port {port}"

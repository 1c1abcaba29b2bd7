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
from tests.listening import addresses_of
from tests.pipeline.rectangles import random_rectangles
from tests.pipeline.test_stream import SMALL, first, same

from holdfast.errors import DataError, UndecodableImage
from holdfast.pipeline import data_service, dataset_columns, loopback
from holdfast.pipeline.stream import BadImage, Stream

pytestmark = [pytest.mark.hot, pytest.mark.long(20)]


@contextmanager
def started(*more: str) -> Iterator[tuple[int, list[str]]]:
    """The server's process, and what it said until it served."""
    command = [sys.executable, "-m", "holdfast", "data", "serve", "--port", "0", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        assert process.stdout is not None
        said = [process.stdout.readline()]
        while "can read and write your files" not in said[-1]:
            assert said[-1], said
            said.append(process.stdout.readline())
        yield process.pid, said
    finally:
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=60)[0]
        assert process.returncode == 0
        assert rest.endswith("stopped\n")


@contextmanager
def server() -> Iterator[str]:
    with started() as (_, said):
        found = re.search(r"localhost:\d+", said[0])
        assert found is not None
        yield found.group()


def address_outside() -> str:
    """Of this machine, on another interface than loopback."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # of a network for examples; nothing is sent
            found = str(probe.getsockname()[0])
    except OSError:
        found = "127.0.0.1"
    if loopback.is_loopback(found):
        pytest.skip("this machine has no other interface than loopback")
    return found


def answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=30.0):
            return True
    except ConnectionRefusedError:
        return False


def test_only_this_machine_is_served_unless_the_flag_says_otherwise() -> None:
    outside = address_outside()
    with started() as (pid, said):
        ports = {port for _, port in addresses_of(pid)}
        assert len(ports) == 2  # dispatcher and worker
        assert [answers("127.0.0.1", port) for port in ports] == [True, True]
        assert [answers(outside, port) for port in ports] == [False, False]
        assert "to programs on this machine only" in said[0]
        assert all(str(port) in said[-1] for port in ports)
    with started("--allow-any-client", "--host", outside) as (pid, said):
        ports = {port for _, port in addresses_of(pid)}
        assert [answers(outside, port) for port in ports] == [True, True]
        assert f"serving batches on {outside}:" in said[0]
        assert "to every machine that reaches it" in said[0]
        assert "whoever reaches these ports" in said[-1]


def test_a_port_that_another_server_has_is_refused() -> None:
    with socket.socket() as taken:
        # as TensorFlow does, which would share the port
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        taken.bind(("", 0))
        taken.listen()
        with pytest.raises(DataError) as raised:
            data_service.serve("localhost", taken.getsockname()[1], say=print)
    assert raised.value.found == ("[Errno 98] Address already in use",)


def test_the_risk_is_said_in_words() -> None:
    assert data_service.risk((5050, 5051), any_client=False, root=False) == (
        "whoever reaches these ports (5050, 5051) can read and write your files, other users of this machine too: "
        "there is no password"
    )
    assert data_service.risk((5050, 5051), any_client=True, root=True) == (
        "whoever reaches these ports (5050, 5051) can read and write your files, from any network that leads here: "
        "there is no password. As root, these are all files of this machine"
    )


def test_two_servers_give_the_batches_of_one_machine_from_any_step_on(
    folder_of: Callable, tmp_path: object
) -> None:
    data = dataset_columns.columns_of(folder_of(random_rectangles(13), ".jpg"))
    here = Stream(data, SMALL)
    steps = 2 * here._at_once + 3  # past the turn of the second server
    whole = first(steps, here.numpy_batches())
    with server() as one, server() as two:
        data_service.require_reachable((one, two))
        assert same(first(steps, Stream(data, SMALL, servers=(one, two)).numpy_batches()), whole)
        assert same(first(5, Stream(data, SMALL, servers=(two,)).numpy_batches(7)), whole[7:12])
        _a_bad_image_is_named(folder_of, one)


def _a_bad_image_is_named(folder_of: Callable, address: str) -> None:
    dataset = folder_of(random_rectangles(5), ".jpg", name="bad")
    path = dataset.records[2].image.path
    whole = open(path, "rb").read()  # noqa: SIM115
    open(path, "wb").write(whole[:300])  # noqa: SIM115
    data = dataset_columns.columns_of(dataset)
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
        data_service.require_reachable((f"localhost:{port}",))
    assert raised.value.what == f"the data server localhost:{port} does not answer"
    assert raised.value.change[0] == f"start it there: holdfast data serve --port {port}"


def test_a_server_on_another_machine_needs_the_flag_there() -> None:
    with pytest.raises(DataError) as raised:
        data_service.require_reachable(("decoder.invalid:5050",))
    assert raised.value.change[0] == "start it there: holdfast data serve --port 5050 --allow-any-client"

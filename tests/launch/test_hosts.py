"""Two hosts as network namespaces with a cable between them, which is cut or slowed: the verdict names the host."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.explain import explain
from holdfast.journal import reader
from holdfast.journal.beats import BeatReader
from holdfast.journal.events import CheckpointAgreed
from tests.explain.made import sentence

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("tc"), reason="needs root, ip and tc"),
]

ROOT = Path(__file__).parent.parent.parent
FIRST, SECOND = "10.77.0.1", "10.77.0.2"


def ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


class Cable:
    """`hf0` and `hf1` are hosts; each has one end of the cable."""

    def __init__(self) -> None:
        self.close()
        ip("link add hfc0 type veth peer name hfc1")
        for number, address in enumerate((FIRST, SECOND)):
            ip(f"netns add hf{number}")
            ip(f"link set hfc{number} netns hf{number}")
            ip(f"-n hf{number} addr add {address}/24 dev hfc{number}")
            ip(f"-n hf{number} link set hfc{number} up")
            ip(f"-n hf{number} link set lo up")

    def cut(self) -> None:
        ip("-n hf1 link set hfc1 down")

    def slow(self, rate: str) -> None:
        """By its rate: the kernel here has no netem, which would delay."""
        words = f"-n hf1 qdisc add dev hfc1 root tbf rate {rate} burst 1600 latency 5s"
        subprocess.run(["tc", *words.split()], check=True)

    def start(self, host: int, folder: Path, *more: str, peer: str = "light") -> subprocess.Popen[bytes]:
        environment = os.environ | {"HOST": str(host), "CONDUCTOR": f"{FIRST}:29470", "JAX_PLATFORMS": "cpu",
                                    "KERAS_BACKEND": "jax"}  # fmt: skip
        command = [sys.executable, "-m", "tests.launch.tiny_group", peer, str(folder), "2", *more]
        with (folder.parent / f"host{host}.log").open("ab") as log:
            return subprocess.Popen(["ip", "netns", "exec", f"hf{host}", *command], cwd=ROOT, env=environment,
                                    stdout=log, stderr=subprocess.STDOUT)  # fmt: skip

    def close(self) -> None:
        for number in (0, 1):
            subprocess.run(["ip", "netns", "del", f"hf{number}"], capture_output=True)
        subprocess.run(["ip", "link", "del", "hfc0"], capture_output=True)


@pytest.fixture
def cable() -> Iterator[Cable]:
    made = Cable()
    yield made
    made.close()


def log_with(path: Path, words: str, within_s: float = 90.0) -> str:
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        text = path.read_text() if path.exists() else ""
        if words in text:
            return text
        time.sleep(0.2)
    raise AssertionError(f"{words!r} is not in:\n{text}")


def at_step(folder: Path, step: int) -> None:
    until = time.monotonic() + 200
    while time.monotonic() < until:
        beat = BeatReader(folder / "beats").newest()
        if beat is not None and beat.step >= step:
            return
        time.sleep(0.1)
    raise AssertionError("it does not train")


def test_a_host_that_never_comes_is_named(cable: Cable, tmp_path: Path) -> None:
    first = cable.start(0, tmp_path / "a")
    text = log_with(tmp_path / "host0.log", "not there after")
    assert "process 1 of 2 not there" in text
    second = cable.start(1, tmp_path / "b", "--steps", "20")
    assert first.wait(120) == 0, (tmp_path / "host0.log").read_text()
    assert second.wait(60) == 0


def test_a_cut_cable_is_named_within_seconds_and_the_other_side_ends_itself(
    cable: Cable, tmp_path: Path
) -> None:
    first = cable.start(0, tmp_path / "a", "--steps", "100000")
    second = cable.start(1, tmp_path / "b", "--steps", "100000")
    at_step(tmp_path / "a", 20)
    cable.cut()
    began = time.monotonic()
    text = log_with(tmp_path / "host0.log", "has not been heard of")
    took_s = time.monotonic() - began
    print(f"named after {took_s:.1f} s")
    assert "process 1 on" in text
    assert "the host or the network to it has gone" in text
    assert second.wait(120) == 75  # without a coordinator it ends
    first.terminate()
    first.wait(120)


@pytest.mark.parametrize("peer, steps, rate, more", [
    ("light", 40, "40kbit", ["--bytes", "4000"]),
    pytest.param("tiny", 60, "40kbit", [], marks=[pytest.mark.hot, pytest.mark.timeout(1800)]),
])  # fmt: skip
def test_a_slow_cable_is_named_in_the_verdict(
    cable: Cable, tmp_path: Path, peer: str, steps: int, rate: str, more: list[str]
) -> None:
    first = cable.start(0, tmp_path / "a", "--steps", str(steps), *more, peer=peer)
    second = cable.start(1, tmp_path / "b", "--steps", str(steps), *more, peer=peer)
    at_step(tmp_path / "a", 5)
    assert "takes" not in (tmp_path / "host0.log").read_text()
    cable.slow(rate)
    text = log_with(tmp_path / "host0.log", "the network between them is the limit")
    line = next(one for one in text.splitlines() if "a message to process 1" in one)
    print(text)
    assert int(line.split("back takes ")[1].split()[0]) >= 50
    assert first.wait(600) == 0
    assert second.wait(60) == 0
    known = [sentence(one) for one in explain(tmp_path / "a").known]
    assert any("a message to process 1" in fact for fact in known), known
    assert any(fact.startswith("the exchange of a step takes") for fact in known), known


@pytest.mark.hot
@pytest.mark.timeout(1800)
def test_two_hosts_that_share_no_disk_train_together_on_jax(cable: Cable, tmp_path: Path) -> None:
    first = cable.start(0, tmp_path / "a", "--steps", "20", peer="tiny")
    second = cable.start(1, tmp_path / "b", "--steps", "20", peer="tiny")
    assert first.wait(900) == 0, (tmp_path / "host0.log").read_text()[-3000:]
    assert second.wait(60) == 0
    ends = [(tmp_path / name).read_text().splitlines() for name in ("a/output.log", "b/peers/1/output.log")]
    digests = [next(line for line in lines if line.startswith("finished 20")) for lines in ends]
    assert digests[0] == digests[1]
    shutil.rmtree(tmp_path / "b" / "peers")
    first = cable.start(0, tmp_path / "a", "--steps", "25", "--resume", peer="tiny")
    second = cable.start(1, tmp_path / "b", "--steps", "25", "--resume", peer="tiny")
    assert first.wait(900) == 0, (tmp_path / "host0.log").read_text()[-3000:]
    assert second.wait(60) == 0
    entries = reader.read(tmp_path / "b/peers/1/journal.jsonl")
    agreed = [one.event for one in entries if isinstance(one.event, CheckpointAgreed)]
    assert [(one.step, one.sent) for one in agreed] == [(20, True)]

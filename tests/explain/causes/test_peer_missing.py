"""A group in which one is missing: in the stacks, in an error, in the coordinator's remarks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.explain import Strength
from holdfast.journal import events as ev
from holdfast.journal.stack_files import Frame, ProcessStacks, Thread
from tests.explain.made import Run, facts, native, python_thread, remedies, user

_PYTHON = "/venv/lib/python3.11/site-packages/tensorflow/python/"
_INITIALIZED = Frame(_PYTHON + "eager/context.py", 602, "ensure_initialized")
_STRATEGY = Frame(_PYTHON + "distribute/collective_all_reduce_strategy.py", 500, "__init__")


def _waits(run: Run, *frames: Frame) -> None:
    frames = (*frames, user(8, "<module>"))
    main = Thread(tid=4000, main=True, state="S", wait="futex_do_wait", frames=list(frames))
    run.stalled("build", main, step=0)
    run.stopped()


def example(run: Run) -> None:
    run.probe(ev.FrameworkSeen(name="tensorflow", environment={"TF_CONFIG": "{…}"}))
    _waits(run, _INITIALIZED, _STRATEGY)


def near_miss(run: Run) -> None:
    """A first use of TensorFlow that takes long, on one machine."""
    _waits(run, _INITIALIZED)


def test_a_rendezvous_of_torch(tmp_path: Path) -> None:
    torch = "/usr/lib/python3/site-packages/torch/distributed/"
    joins = Frame(torch + "distributed_c10d.py", 1892, "init_process_group")
    run = Run(tmp_path / "run")
    _waits(run, Frame(torch + "rendezvous.py", 199, "_create_c10d_store"), joins)
    assert (run.first().cause, run.first().strength.word) == ("peer-missing", "supported")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "run")


def test_where_it_waits_and_what_names_the_group(run: Run) -> None:
    example(run)
    first = run.first()
    assert (first.title.kind, first.strength) == ("peer-missing.joining", Strength.SUPPORTED)
    assert facts(first)["thread.stalled"]["inside"].endswith("context.py:602 in ensure_initialized")
    assert facts(first)["group.configured"] == {"variable": "TF_CONFIG"}


def test_an_error_about_a_barrier(run: Run) -> None:
    run.raised("RuntimeError", "DEADLINE_EXCEEDED: Barrier timed out. Id: start")
    assert (run.first().title.kind, run.first().strength) == ("peer-missing", Strength.ESTABLISHED)


def test_a_collective_whose_peer_is_gone_is_no_download(run: Run) -> None:
    """As JAX raises it on a CPU when another process of the group is killed."""
    gloo = "[external/gloo/gloo/transport/tcp/pair.cc:538] Read error [127.0.0.1]:37268: Connection reset by peer"
    run.raised("JaxRuntimeError", f"UNKNOWN: Gloo all-reduce failed: {gloo}")
    assert [one.cause for one in run.verdict().findings] == ["peer-missing"]


def test_an_agent_that_was_lost(run: Run) -> None:
    because = [{"fact": "the kernel killed it for memory"}]
    text = "process 2 on b was ended by SIGKILL"
    run.supervisor(ev.AgentLost(rank=2, signal="SIGKILL", text=text, verdict={"because": because}))
    run.ended(1)
    first = run.first()
    assert (first.title.kind, first.strength) == ("peer-missing.lost", Strength.ESTABLISHED)
    assert (first.title.values["rank"], first.title.values["signal"]) == (2, "SIGKILL")
    assert [(fact.values["text"], fact.source.partition(":")[0]) for fact in first.because] == [
        (text, "journal.jsonl"),
        ("the kernel killed it for memory", "peers/2"),
    ]
    assert first.remedies[0].values == {"rank": 2}


@pytest.mark.parametrize("remark", ["missing", "silent", "suspended", "waited-for"])
def test_an_agent_that_holds_up_the_others(run: Run, remark: ev.RemarkKind) -> None:
    run.fit()
    run.supervisor(ev.GroupRemark(remark=remark, ranks=[1], text="all wait for process 1"))
    run.ended(signal="SIGKILL", stopped_by_us="stall")
    assert run.first().title.kind == "peer-missing.agent"
    assert run.first().title.values == {"rank": 1, "remark": remark}
    assert remedies(run.first())[0] == "group.explain-agent"


def test_a_network_that_carries_no_step_is_not_blamed_on_an_agent(run: Run) -> None:
    run.fit()
    text = "all wait for each other since 30 s: the network between them does not carry a step"
    run.supervisor(ev.GroupRemark(remark="network", text=text))
    run.ended(signal="SIGKILL", stopped_by_us="stall")
    first = run.first()
    assert (first.title.kind, first.strength) == ("peer-missing.network", Strength.SUPPORTED)
    assert facts(first)["group.remark"] == {"text": text}


@pytest.mark.parametrize("left", [1, 2])
def test_processes_of_a_spawn_that_do_not_do_the_same_number_of_steps(tmp_path: Path, left: int) -> None:
    """The main process only waits for those that it started. Two in the same collective are no such case."""
    torch = "/venv/lib/python3.11/site-packages/torch/"
    joins = [
        Frame("/usr/lib/python3.11/multiprocessing/connection.py", 947, "wait"),
        Frame(torch + "multiprocessing/spawn.py", 140, "ProcessContext.join"),
    ]
    reduces = Frame(torch + "distributed/distributed_c10d.py", 3252, "all_reduce")

    def child(pid: int, *frames: Frame, **more: str) -> ProcessStacks:
        thread = python_thread(pid, *frames, main=True, **more)
        return ProcessStacks(
            pid=pid, parent=4000, name="python", state="S", threads=[thread, native(pid + 50)]
        )

    asleep = child(4101, user(44, "run", "time.sleep(0.5)"), wait="hrtimer_nanosleep")
    run = Run(tmp_path)
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:38"))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=137)
    run.stalled(
        "build",
        python_thread(4000, *joins, user(54, "<module>", "mp.spawn(run, nprocs=2)"), main=True),
        others=(
            child(4100, reduces, user(36, "run", "dist.all_reduce(p.grad)")),
            child(4102, reduces, user(36, "run", "dist.all_reduce(p.grad)")) if left == 1 else asleep,
        ),
    )
    run.stopped()
    assert "input-blocked" not in run.slugs()
    if left == 2:
        first = run.first()
        assert (first.cause, first.strength) == ("peer-missing", Strength.SUPPORTED)
        assert facts(first)["group.elsewhere"] == {"pid": 4101, "where": "/home/me/train.py:44 in run"}
        assert facts(first)["thread.stalled"]["inside"].endswith("distributed_c10d.py:3252 in all_reduce")


def test_two_collectives_that_are_not_the_same(tmp_path: Path) -> None:
    """Both wait: one of them for a barrier that only it has called."""
    torch = "/venv/lib/python3.11/site-packages/torch/"
    joins = Frame(torch + "multiprocessing/spawn.py", 140, "ProcessContext.join")
    distributed = torch + "distributed/distributed_c10d.py"
    children = [
        ProcessStacks(
            pid=pid, parent=4000, name="python", state="S",
            threads=[python_thread(pid, Frame(distributed, line, name), user(own, "run"), main=True), native(pid + 50)],
        )
        for pid, line, name, own in ((4100, 5356, "barrier", 31), (4101, 3252, "all_reduce", 36))
    ]  # fmt: skip
    run = Run(tmp_path)
    main = python_thread(4000, joins, user(54, "<module>", "mp.spawn(run, nprocs=2)"), main=True)
    run.stalled("build", main, others=tuple(children))
    run.stopped()
    assert (run.first().cause, run.first().title.kind) == ("peer-missing", "peer-missing.elsewhere")
    assert facts(run.first())["group.elsewhere"]["pid"] == 4101


# -- sockets of the script's own --------------------------------------------------------------------------

_LISTENS = {"state": "listening", "port": 38831, "clients": 1, "sent": 0, "received": 40}
_CONNECTED = {"state": "connected", "port": 38831, "clients": 0}


def _at_socket(path: Path, socket: dict[str, Any], *, syscall: str = "accept4", **place: Any) -> Run:
    run = Run(path / "run")
    run.probe(ev.LoopSeen(by="torch_optimizer", where="train.py:38"))
    run.samples(3, rss_bytes=1 << 20, phase="step", step=137)
    own = Frame("/home/me/train.py", 30, place.pop("function", "main"), "…", **place)
    main = python_thread(
        4000, own, main=True, wait="inet_csk_accept", syscall=f"{syscall} fd=5 (socket:[1])", socket=socket
    )
    run.stalled("between", main)
    run.stopped()
    return run


def _found(run: Run) -> list[tuple[str, str]]:
    return [(one.cause, one.strength.word) for one in run.verdict().findings]


def test_a_client_that_does_not_connect(tmp_path: Path) -> None:
    run = _at_socket(tmp_path, _LISTENS)
    first = run.first()
    assert _found(run) == [("peer-missing", "supported")]
    assert first.title.values == {
        "state": "listening",
        "port": 38831,
        "clients": 1,
        "where": "/home/me/train.py:30",
    }
    assert facts(first)["socket.listens"]["clients"] == 1


def test_a_server_of_whoever_comes_is_not_blamed(tmp_path: Path) -> None:
    assert _at_socket(tmp_path, _LISTENS, endless=True).blamed() == []


@pytest.mark.parametrize(("sent", "received", "cause", "strength"), [
    (1 << 20, 1 << 20, "peer-missing", "supported"),
    (1 << 20, 4 << 20, "peer-missing", "supported"),
    (2 << 10, 8 << 20, "input-blocked", "established"),  # requests for batches
    (0, 8 << 20, "input-blocked", "established"),
    (40, 0, "input-blocked", "supported"),  # a greeting, and nothing came
])  # fmt: skip
def test_what_went_over_the_connection_tells_peers_from_data(
    tmp_path: Path, sent: int, received: int, cause: str, strength: str
) -> None:
    socket = {**_CONNECTED, "sent": sent, "received": received}
    assert _found(_at_socket(tmp_path, socket, syscall="recvfrom"))[0] == (cause, strength)


@pytest.mark.parametrize("place", [{"yields": True}, {"function": "Rows.__next__"}])
def test_an_iterator_reads_data_whatever_it_sends(tmp_path: Path, place: dict[str, Any]) -> None:
    socket = {**_CONNECTED, "sent": 1 << 20, "received": 1 << 20}
    assert _found(_at_socket(tmp_path, socket, syscall="recvfrom", **place)) == [
        ("input-blocked", "established")
    ]


def test_a_loop_that_tries_to_connect_says_both(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    own = Frame("/home/me/train.py", 30, "join", "time.sleep(5)", connects=True)
    run.stalled("", python_thread(4000, own, main=True, wait="hrtimer_nanosleep", syscall="clock_nanosleep"))
    run.stopped()
    assert (run.first().title.kind, run.first().strength.word) == ("peer-missing.or-data", "possible")

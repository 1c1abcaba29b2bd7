"""One coordinator and many agents: its CPU and memory, and how long until it names one that is dead, slow or cut off.

`python benchmarks/coordinator.py [--agents 10 100 1000]`. Agents are simulated, all in one process: each has its own
connection and sends what a real one sends, but nothing is trained. The coordinator is the real one, in a process of
its own on this machine; there is no network between them. All agents connect, then report for `--seconds`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from holdfast.host import procfs
from holdfast.journal.events import AgentDropped, AgentLost, Event, GroupAssembled, GroupRemark
from holdfast.journal.step_timing import COLLECTIVE
from holdfast.launch import messages
from holdfast.launch.agent import REPORT_EVERY_S
from holdfast.launch.connection import MessageConnection, open_server
from holdfast.launch.connections import allow_open_files
from holdfast.launch.coordinator import Coordinator, GroupConfig
from holdfast.launch.messages import FROM_COORDINATOR

OWN_S, TOGETHER_S, SLOWER = 0.3, 0.2, 2.0  # of a step, and how many times as long the slow one takes
SETTLED_S = 8.0  # after the start, before anything happens
GIVE_UP_S = 90.0
FAULTS = ("slow", "cut off", "dead")


# -- the coordinator, in a process of its own ----------------------------------------------------------


def serve(count: int) -> None:
    server = open_server("127.0.0.1", 0)
    print(server.getsockname()[1], flush=True)

    def note(event: Event) -> None:
        if isinstance(event, GroupAssembled | GroupRemark | AgentDropped | AgentLost):
            ranks = getattr(event, "ranks", None) or [getattr(event, "rank", -1)]
            what = getattr(event, "remark", "") or event.kind
            print(json.dumps({"what": what, "ranks": ranks, "at": time.monotonic()}), flush=True)

    config = GroupConfig(count=count, token="word", restarts=0, join_s=120.0, on_stall="report")
    Coordinator(config, server, say=lambda text: None, note=note).run()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps({"what": "ended", "ranks": [], "at": time.monotonic(), "peak": used.ru_maxrss}), flush=True
    )


# -- the agents, all in this one -----------------------------------------------------------------------


@dataclass
class SimulatedAgent:
    rank: int
    line: MessageConnection
    due: float
    attempt: int = 0
    began: float = 0.0
    slow_since: float | None = None
    cut_off: bool = False

    def status(self, now: float, slow_since: float | None) -> messages.Status:
        """As of a group whose steps take as long as the slowest needs."""
        usual = OWN_S + TOGETHER_S
        before = (min(now, slow_since) if slow_since else now) - self.began
        since = now - slow_since if slow_since else 0.0
        steps = int(before / usual) + int(since / (OWN_S * SLOWER + TOGETHER_S))
        slow_steps = int(since / (OWN_S * SLOWER + TOGETHER_S))
        own_s = OWN_S * (steps - slow_steps) + OWN_S * slow_steps * (SLOWER if self.slow_since else 1.0)
        together_s = TOGETHER_S * steps + (0.0 if self.slow_since else OWN_S * (SLOWER - 1) * slow_steps)
        return messages.Status(
            True, self.attempt, pid=1000 + self.rank, step=steps, phase="step", sequence=int(now * 1000),
            state="S", data_s=0.01 * steps, pace=COLLECTIVE, steps=steps, own_s=own_s, together_s=together_s,
        )  # fmt: skip


@dataclass
class Agents:
    """Connected agents that answer, until `stop`."""

    port: int
    count: int
    agents: dict[int, SimulatedAgent] = field(default_factory=dict)
    slow_since: float | None = None
    stop: bool = False

    def connect(self) -> None:
        now = time.monotonic()
        for rank in range(self.count):
            line = MessageConnection(socket.create_connection(("127.0.0.1", self.port), timeout=30.0))
            line.send(messages.Hello(rank, "word", f"host{rank // 8}", 1000 + rank))
            spread = rank / self.count * REPORT_EVERY_S
            self.agents[rank] = SimulatedAgent(rank, line, now + spread)

    def serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            for one in self.agents.values():
                selector.register(one.line.sock, selectors.EVENT_READ, one)
            while not self.stop:
                for key, _ in selector.select(0.005):
                    one = key.data
                    if one.cut_off:
                        selector.unregister(one.line.sock)
                    elif not self._answer(one):
                        selector.unregister(one.line.sock)
                        one.cut_off = True
                now = time.monotonic()
                for one in self.agents.values():
                    if now >= one.due and one.attempt and not one.cut_off:
                        one.due += REPORT_EVERY_S
                        one.line.send(one.status(now, self.slow_since))

    def _answer(self, one: SimulatedAgent) -> bool:
        is_open = one.line.fill()
        while (message := one.line.take(FROM_COORDINATOR)) is not None:
            if isinstance(message, messages.Ping):
                one.line.send(messages.Pong(message.at))
            elif isinstance(message, messages.Start):
                one.attempt, one.began = message.attempt, time.monotonic()
            elif isinstance(message, messages.TakeStacks):
                one.line.send(messages.Stacks("stacks/group-1-1.json", ("reduce (step.py:98)",)))
            elif isinstance(message, messages.Kill | messages.Stop):
                one.line.send(messages.ProcessEnded(one.attempt, None, "SIGKILL", 137, 1))
        return is_open

    def harm(self, fault: str, rank: int) -> None:
        one = self.agents[rank]
        if fault == "slow":
            self.slow_since = one.slow_since = time.monotonic()
        else:
            one.cut_off = True
        if fault == "dead":
            one.line.close()


# -- what is measured ----------------------------------------------------------------------------------


@contextlib.contextmanager
def group(count: int) -> Iterator[tuple[Agents, subprocess.Popen[str], list[dict[str, object]]]]:
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(count)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    agents, events = Agents(int(process.stdout.readline()), count), []
    reader = threading.Thread(target=lambda: events.extend(map(json.loads, process.stdout)), daemon=True)

    def read() -> None:
        for line in process.stdout or ():
            events.append(json.loads(line))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    agents.connect()
    serving = threading.Thread(target=agents.serve, daemon=True)
    serving.start()
    try:
        yield agents, process, events
    finally:
        process.terminate()
        process.wait()
        agents.stop = True
        serving.join()
        for one in agents.agents.values():
            one.line.close()


def wait_for(events: list[dict[str, object]], what: tuple[str, ...], rank: int | None = None) -> float | None:
    until = time.monotonic() + GIVE_UP_S
    while time.monotonic() < until:
        for event in list(events):
            if event["what"] in what and (rank is None or rank in event["ranks"]):  # type: ignore[operator]
                return float(event["at"])  # type: ignore[arg-type]
        time.sleep(0.02)
    return None


def measure(count: int, seconds: float) -> list[str]:
    cells = [f"{count:,}"]
    for fault in FAULTS:
        began = time.monotonic()
        with group(count) as (agents, process, events):
            joined = wait_for(events, ("group_assembled",))
            time.sleep(SETTLED_S)
            if fault == FAULTS[0]:
                before = cpu_s(process.pid)
                time.sleep(seconds)
                share = (cpu_s(process.pid) - before) / seconds
                alarms = [one for one in events if one["what"] != "group_assembled"]
                memory = procfs.keyed(procfs.read(f"/proc/{process.pid}/status")).get("VmRSS", 0)
                cells += [
                    f"{(joined or 0) - began:.1f} s",
                    f"{share:.1%}",
                    f"{memory >> 20} MiB",
                    str(len(alarms)),
                ]
            rank = count * 2 // 3
            harmed = time.monotonic()
            agents.harm(fault, rank)
            names = {"slow": ("straggler",), "cut off": ("silent",), "dead": ("agent_lost",)}[fault]
            named = wait_for(events, names, rank)
            cells.append(f"{named - harmed:.1f} s" if named else "not named")
    return cells


def cpu_s(pid: int) -> float:
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()  # noqa: SIM115
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
        return
    allow_open_files(2 * max(args.agents) + 200)
    heads = (
        "agents",
        "all connected",
        "CPU of a core",
        "memory",
        "false alarms",
        *(f"names one that is {fault}" for fault in FAULTS),
    )
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    for count in args.agents:
        print(f"| {' | '.join(measure(count, args.seconds))} |", flush=True)


if __name__ == "__main__":
    main()

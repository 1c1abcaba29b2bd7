"""A process of a group that computes nothing: it beats, meets the others over TCP at every step, and saves numbers.

What the coordinator and the supervisors do does not depend on what a step computes; with this one a group starts in
tenths of a second. `python -m tests.launch.light_peer FOLDER [--steps N] [--step-s S] [--faulty KIND:RANK:STEP]
[--gate N]`.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import time
from pathlib import Path

from holdfast.journal import group_membership, step_timing
from holdfast.journal.beats import BeatWriter, Phase
from holdfast.journal.folder import ATTEMPT_VARIABLE


class Meeting:
    """Rank 0 hears a number of each and answers with the largest."""

    def __init__(self, ours: group_membership.GroupMembership) -> None:
        host, _, port = ours.coordinator.rpartition(":")
        self.others: list[socket.socket] = []
        self.first: socket.socket | None = None
        if ours.rank == 0:
            with socket.create_server(("0.0.0.0", int(port))) as server:
                self.others = [server.accept()[0] for _ in range(ours.count - 1)]
            return
        for _ in range(6000):  # five minutes
            try:
                self.first = socket.create_connection((host, int(port)))
                return
            except OSError:
                time.sleep(0.05)
        raise OSError("rank 0 does not answer")

    def largest(self, number: int, size: int) -> int:
        if self.first is not None:
            self.first.sendall(bytes([number] * size))
            return read(self.first, size)
        most = max([number, *(read(other, size) for other in self.others)])
        for other in self.others:
            other.sendall(bytes([most] * size))
        return most


def read(sock: socket.socket, size: int) -> int:
    data = sock.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise ConnectionError("Connection closed by peer")
    return data[0]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step-s", type=float, default=0.02)
    parser.add_argument("--bytes", type=int, default=1, help="of a message to the others at each step")
    parser.add_argument("--faulty", default="")
    parser.add_argument("--gate", type=int, default=-1, help="no first attempt goes beyond this step")
    args = parser.parse_args()
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    ours = group_membership.from_environment()
    assert ours is not None
    group_membership.die_with_parent()
    attempt = int(os.environ[ATTEMPT_VARIABLE])
    beats, noted = (
        BeatWriter(args.folder / "beats", attempt=attempt),
        step_timing.StepTimingWriter(args.folder / step_timing.TIMING_FILE),
    )
    beats.write(Phase.BUILD)
    saved = ours.group / "saved"
    step = int(saved.read_text()) if (args.resume or attempt > 1) and saved.exists() else 0
    kind, rank, at = args.faulty.split(":") if args.faulty else ("", "-1", "-1")
    try:
        meeting, together_s = Meeting(ours), 0.0
        while step < args.steps:
            faulty = int(rank) == ours.rank and step >= int(at) and attempt == 1
            beats.write(Phase.DATA_WAIT, step=step)
            noted.note(step_timing.LOCAL_WORK, step, joined=1, together_s=together_s)
            while step == args.gate and attempt == 1:
                time.sleep(0.05)
            own_s = args.step_s * (6 if faulty and kind == "slow" else 1)
            time.sleep(own_s)
            if faulty and kind == "stuck":
                time.sleep(1000)
            if faulty and kind == "error":
                return 2
            beats.write(Phase.STEP, step=step)
            noted.note(step_timing.COLLECTIVE, step, own_s=own_s)
            met = time.monotonic()
            stop = meeting.largest(1 if asked else 0, args.bytes)
            together_s = time.monotonic() - met
            step += 1
            beats.write(Phase.BETWEEN, step=step)
            if ours.rank == 0 and (step % 5 == 0 or stop):
                saved.with_suffix(".new").write_text(str(step))
                saved.with_suffix(".new").replace(saved)
            if stop:
                print("ended at", step, flush=True)
                return 143
    except OSError as error:
        print(error, flush=True)
        return 75
    print("finished at", step, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

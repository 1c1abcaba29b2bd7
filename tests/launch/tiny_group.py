"""A whole group: `python -m tests.launch.tiny_group [light|tiny] FOLDER COUNT [options of the peer]`.

With HOST and COORDINATOR in the environment it is one host of two, each with half of the processes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from holdfast.launch import cluster, group
from holdfast.launch.coordinator import GroupConfig


def main(words: list[str]) -> int:
    peer, folder, count, more = words[0], Path(words[1]), int(words[2]), tuple(words[3:])
    folder.mkdir(parents=True, exist_ok=True)
    command = (
        sys.executable,
        "-m",
        f"tests.launch.{peer}_peer",
        *(word for word in more if word != "--resume"),
    )
    terms = GroupConfig(count=count, token="word", restarts=30, resume="--resume" in more, join_s=300.0)
    done = group.run(placed(folder, count, terms, command), say=say)
    print("group", done.exit_code, done.attempts, done.blamed.words if done.blamed else "", flush=True)
    return done.exit_code


def placed(folder: Path, count: int, terms: GroupConfig, command: tuple[str, ...]) -> group.LocalGroup:
    if "HOST" not in os.environ:
        return group.LocalGroup(folder, range(count), terms, command=command)
    spot = cluster.HostPlacement(int(os.environ["HOST"]), 2, os.environ["CONDUCTOR"])
    address, _, port = spot.coordinator.rpartition(":")
    ranks = cluster.ranks_of(spot, count)
    if spot.host:
        return group.LocalGroup(folder, ranks, terms, coordinator=spot.coordinator, command=command)
    terms = GroupConfig(
        **{name: getattr(terms, name) for name in GroupConfig.__slots__} | {"advertised": address}
    )
    return group.LocalGroup(folder, ranks, terms, listen="0.0.0.0", port=int(port), command=command)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

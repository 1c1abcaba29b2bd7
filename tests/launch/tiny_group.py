"""A whole group: `python -m tests.launch.tiny_group [light|tiny] FOLDER COUNT [options of the peer]`."""

from __future__ import annotations

import sys
from pathlib import Path

from holdfast.launch import group
from holdfast.launch.conductor import Terms


def main(words: list[str]) -> int:
    peer, folder, count, more = words[0], Path(words[1]), int(words[2]), tuple(words[3:])
    folder.mkdir(parents=True, exist_ok=True)
    terms = Terms(count=count, token="", restarts=30, resume="--resume" in more)
    command = (
        sys.executable,
        "-m",
        f"tests.launch.{peer}_peer",
        *(word for word in more if word != "--resume"),
    )
    done = group.run(group.Here(folder, range(count), terms, command=command), say=say)
    print("group", done.exit_code, done.attempts, done.blamed.words if done.blamed else "", flush=True)
    return done.exit_code


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

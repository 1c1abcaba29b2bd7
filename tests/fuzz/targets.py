"""What is fuzzed: each target mutates one file or message and reads it as a user's command would."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from holdfast.board import http_request, run_row
from holdfast.board.answers import Answers
from holdfast.board.board_memory import BoardMemory
from holdfast.board.run_curves import RunCurves
from holdfast.board.run_facts import read_facts
from holdfast.board.run_list import RunList
from holdfast.board.run_places import places
from holdfast.cli.damaged_run import DamagedRun, reading_run
from holdfast.cli.verdicts import compare_runs
from holdfast.errors import HoldfastError
from holdfast.explain import explain, explain_log
from holdfast.journal.folder import RunFolder
from holdfast.launch import messages
from holdfast.report import comparison, html, overview, redact, story, table, verdict, verdict_json
from holdfast.train.checkpoint import checkpoint_files
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from tests.fuzz import mutations, weight_targets

Target = Callable[[random.Random, Path], str]  # the outcome in a word; anything raised is a finding
STORED = Path(__file__).parent.parent / "explain" / "runs"
LOGS = Path(__file__).parent.parent / "explain" / "logs"


def seeds(work: Path) -> None:
    """Some stored runs of different causes, one that ran here, and a checkpoint."""
    for archive in sorted(STORED.glob("*.tar.xz"))[::6]:
        target = work / "runs" / archive.name.removesuffix(".tar.xz")
        with tarfile.open(archive) as packed:
            packed.extractall(target, filter="data")
    command = [sys.executable, "-m", "holdfast", "run", "--run-dir", str(work / "runs" / "here"), "--"]
    subprocess.run([*command, sys.executable, "-c", "raise ValueError(1)"], capture_output=True, timeout=120)
    arrays = {"weights": {"a": np.arange(12, dtype=np.float32).reshape(3, 4)}, "optimizer": {"m": np.ones(5)}}
    checkpoint_files.write(
        work / "checkpoints", Snapshot(5, arrays, {"progress": {"step": 5, "seen": [1.5, None]}})
    )
    checkpoint_files.write(work / "checkpoints", Snapshot(9, arrays, {"progress": {"step": 9}}))
    weight_targets.seeds(work)


def run_folder(rng: random.Random, work: Path) -> str:
    source = rng.choice(sorted(one.parent for one in (work / "runs").rglob("journal.jsonl")))
    bad = work / "case" / "bad"
    shutil.rmtree(work / "case", ignore_errors=True)
    shutil.copytree(source, bad)
    victim = rng.choice(sorted(path for path in bad.rglob("*") if path.is_file()))
    mutation = rng.choice(mutations.TEXT if victim.suffix in (".jsonl", ".json") else mutations.BYTES)
    victim.write_bytes(mutation(rng, victim.read_bytes()))
    folder = RunFolder(bad)
    told = {"row": table.render([overview.line(folder)])}
    for shown in (run_row.read_row(folder, 2e9), read_facts(folder), RunCurves(folder).since([])):
        json.dumps(shown, allow_nan=False)  # what the board sends, which no browser takes otherwise
    with contextlib.suppress(HoldfastError):
        with reading_run(bad):
            found = explain(bad)
            told["text"] = verdict.render(found, 80, False)
            whole, as_json = story.read_timeline(folder), verdict_json.as_json(found)
            html.render(redact.story(whole), redact.verdict(as_json, whole.host))
            html.render(whole, as_json)
            if rng.random() < 0.2:
                comparison.render(compare_runs(source, bad), 80)
        return "read"
    return _refusal(bad)


def _refusal(bad: Path) -> str:
    try:
        with reading_run(bad):
            explain(bad)
            return "refused later"
    except DamagedRun as error:
        return f"damaged: {error.found[0].split('(at ')[-1]}"
    except HoldfastError as error:
        return error.slug


def log(rng: random.Random, work: Path) -> str:
    files = sorted(path for path in LOGS.rglob("*") if path.is_file())
    source = rng.choice(files)
    bad = work / "case.log"
    bad.write_bytes(rng.choice(mutations.BYTES)(rng, source.read_bytes()[:200_000]))
    try:
        verdict.render(explain_log(bad, ask_machine=False), 80, False)
    except HoldfastError as error:
        return error.slug
    return "read"


_KINDS = (messages.BEFORE_TOKEN, messages.FROM_AGENT, messages.FROM_COORDINATOR)
_VALID = (
    messages.Hello(1, "x" * 32, "host", 7), messages.Pong(3.5), messages.Status(True, 1, 5, 3, "step", 9, "R"),
    messages.Stacks("stacks/a.json", ("f (a.py:3)",)), messages.Ping(4.0), messages.Leave(3), messages.Kill("why"),
    messages.ProcessEnded(1, 3, None, 3, 9, {"cause": "x", "because": [{"fact": "a", "source": "b"}]}),
    messages.Start(1, 2, "127.0.0.1:4000", False), messages.Stop("SIGTERM"), messages.TakeStacks(),
)  # fmt: skip


def message(rng: random.Random, work: Path) -> str:
    line = rng.choice(mutations.TEXT)(rng, messages.encode(rng.choice(_VALID)).rstrip(b"\n"))
    found = messages.parse(line, rng.choice(_KINDS))
    if found is None:
        return "none"
    messages.encode(found)  # what one side takes, it can say
    return "taken"


_PATHS = (
    "",
    "changes",
    "run",
    "curves",
    "verdict",
    "archive",
    "view",
    "static/app.js",
    "static/../answers.py",
)
_QUERIES = (
    "",
    "?id=a",
    "?id=%2e%2e%2f",
    "?since=5",
    "?since=" + "9" * 40,
    "?have=0.1,9.9&id=a",
    "?old=a&new=b",
)
_BODIES = (b'{"ids": ["a"], "back": true}', b'{"view": {"order": "name"}}', b'{"ids": ["a", 1, null]}')


def board_request(rng: random.Random, work: Path) -> str:
    """A head of a request, and what the board answers where it would take it."""
    first = rng.choice(("GET", "POST")) + " /token/" + rng.choice(_PATHS) + rng.choice(_QUERIES) + " HTTP/1.1"
    lines = [
        "Host: 127.0.0.1:80",
        "Origin: http://127.0.0.1:80",
        "Content-Type: application/json",
        "Content-Length: 9",
    ]
    head, body = "\r\n".join([first, *lines, "", ""]).encode(), rng.choice(_BODIES)
    if rng.random() < 0.5:
        head = rng.choice(mutations.BYTES)(rng, head)
    else:
        body = rng.choice(mutations.TEXT)(rng, body)
    request = http_request.parse(head)
    refused = http_request.refusal(request, b"token")
    if refused is not None or request is None:
        return refused.split(b" ", 2)[1].decode() if refused else "nothing"
    answers = Answers(RunList(places([work / "none"])), BoardMemory(work / "board.json"))
    return answers.reply(request, body).split(b" ", 2)[1].decode()


def checkpoint(rng: random.Random, work: Path) -> str:
    copy = work / "bad-checkpoints"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(work / "checkpoints", copy)
    victim = rng.choice(sorted(path for path in (copy / "step-9").iterdir()))
    victim.write_bytes(rng.choice(mutations.TEXT)(rng, victim.read_bytes()))
    if rng.random() < 0.5:  # with right sums: a stranger's, not a damaged one
        names = sorted(
            path.name for path in (copy / "step-9").iterdir() if path.name != checkpoint_files.CHECKSUMS_FILE
        )
        sums = "".join(f"{checkpoint_files._digest(copy / 'step-9' / name)}  {name}\n" for name in names)
        (copy / "step-9" / checkpoint_files.CHECKSUMS_FILE).write_text(sums)
    newest, rejected = checkpoint_files.newest_complete(copy)
    assert newest is not None
    return "the one before" if rejected else "read"


def _quiet(target: Target) -> Target:
    def run(rng: random.Random, work: Path) -> str:
        with contextlib.redirect_stderr(io.StringIO()):
            return target(rng, work)

    return run


#: Shares of a hundred cases. Datasets are fuzzed by `tests.data.fuzz`, in a process of their own.
TARGETS: dict[str, tuple[int, Target]] = {
    "message": (52, message),
    "board-request": (8, board_request),
    "checkpoint": (10, checkpoint),
    "run-folder": (10, _quiet(run_folder)),
    "log": (8, log),
    "state-dict": (5, weight_targets.state_dict),
    "tensor-bundle": (4, weight_targets.tensor_bundle),
    "pipeline-config": (3, weight_targets.pipeline_config),
}

os.environ.pop("HOLDFAST_DEBUG", None)

"""What is left out of a page that is given to a stranger."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import pytest

from holdfast.explain import explain
from holdfast.journal.folder import RunFolder
from holdfast.report import html, redact, story, verdict_json

STORED = Path(__file__).parent.parent / "explain" / "runs"


def test_lines_of_the_script_and_the_environment_stay_at_home() -> None:
    told = {
        "run": "b",
        "since_last_good": [
            "the last good run of this script, a:",
            "script: train.py:2: `token = 'old'` before, `token = 'new'` now",
            "script: train.py:5: nothing before, `login(token)` now",
            "environment: KERAS_HOME: /home/me/a before, /home/me/b now",
            "command: python train.py before, python train.py --key 7 now",
            "training: batch: 8 before, 16 now",
        ],
    }
    assert redact.verdict(told)["since_last_good"] == [
        "the last good run of this script, a:",
        "script: train.py:2 was edited",
        "script: train.py:5 was edited",
        "training: batch: 8 before, 16 now",
    ]
    assert redact.verdict({"run": "b"}) == {"run": "b", "since_last_good": []}


@pytest.mark.parametrize(("value", "shown"), [
    ("data/clientname/contract/x.py", "…/x.py"),
    ("../../clientname/contract/x.py", "…/x.py"),
    ("~alice/secret/x.py", "…/x.py"),
    ("'/home/Alice Smith/My Project/data.csv'", "'…/data.csv'"),
    ("C:\\Users\\alice\\x.py", "…/x.py"),
    ("s3://acme-secret/a/b", "…/b"),
    ("s3://acme-secret", "s3:…"),
    ("192.168.4.7:5432", "(host)"),
    ("at internal-db.corp.example now", "at (host) now"),
    ("mail me@acme.example", "mail (address)"),
    ("/home/alice", "…"),
    ("/srv/runs/train.py:41", "…/train.py:41"),
    ("step 12/100, 3.5 s/step", None),
    ("ValueError at train.py:41: shapes (8, 3) and (8, 4)", None),
])  # fmt: skip
def test_hosts_users_and_paths_go(value: str, shown: str | None) -> None:
    if shown is None:
        assert not any(word in redact.text(value) for word in ("(host)", "(address)"))
        assert "12/100" in redact.text(value) or "train.py:41" in redact.text(value)
        return
    assert redact.text(value) == shown


def test_of_an_address_the_last_part_of_its_path_stays() -> None:
    word = "PW" + "word"
    text = redact.text(
        f"401 for https://user:{word}@bucket.s3.amazonaws.com/d/x?X-Amz-Signature=SIG from db.corp.example"
    )
    assert text == "401 for …/x from (host)"


def test_a_command_keeps_names_alone() -> None:
    command = "/opt/acme/bin/python3 /home/a/train.py --api-key=ARGV --data /srv/acme positional"
    assert redact.command(command) == "python3 train.py --api-key=… --data …"


@pytest.mark.proof
def test_no_path_of_any_stored_run_is_left(tmp_path: Path) -> None:
    whole_path = re.compile(r"/(?:root|home|tmp|usr|opt)/[\w./-]+")
    for archive in sorted(STORED.glob("*.tar.xz")):
        run = tmp_path / archive.name.removesuffix(".tar.xz")
        with tarfile.open(archive) as packed:
            packed.extractall(run, filter="data")
        folder = RunFolder(
            min((one.parent for one in run.rglob("journal.jsonl")), key=lambda one: len(one.parts))
        )
        told, found = story.read_timeline(folder), verdict_json.as_json(explain(folder.path))
        assert whole_path.search(html.render(told, found)), run.name
        assert whole_path.findall(html.render(redact.story(told), redact.verdict(found, told.host))) == [], (
            run.name
        )

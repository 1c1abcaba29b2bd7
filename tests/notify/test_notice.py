"""What a message says, and the JSON of a webhook, which is a contract."""

from __future__ import annotations

from holdfast.notify import notice
from holdfast.notify.notice import Notice, first_lines, last_event, of_verdict

VERDICT = {
    "run": "train-3",
    "outcome": "failed",
    "step": 41,
    "of": 500,
    "summary": "ended with exit code 1",
    "findings": [
        {
            "cause": "disk-full",
            "title": "the disk is full",
            "because": [{"fact": "no space left"}, {"fact": "0 bytes free"}, {"fact": "a third"}],
            "remedies": [{"do": "free some space"}, {"do": "another folder"}],
        },
        {"cause": "script-error", "title": "an error", "because": [], "remedies": []},
    ],
}


def test_a_message_has_the_first_lines_of_the_verdict() -> None:
    made = of_verdict("failure", VERDICT, run_dir="runs/train-3")
    assert made.title == "Holdfast: train-3 failed"
    assert made.body == (
        "verdict[disk-full]: the disk is full\n"
        "because no space left\n"
        "because 0 bytes free\n"
        "change free some space\n"
        "step 41 of 500\n"
        "run folder: runs/train-3"
    )


def test_the_json_of_a_webhook() -> None:
    made = of_verdict("failure", VERDICT, run_dir="runs/train-3").as_json()
    assert made == {
        "schema": "holdfast.notification/1",
        "event": "failure",
        "run": "train-3",
        "run_dir": "runs/train-3",
        "outcome": "failed",
        "cause": "disk-full",
        "verdict": first_lines(VERDICT),
        "step": 41,
        "of": 500,
        "host": "",
        "at": "",
        "text": made["text"],
    }
    assert made["text"].startswith("Holdfast: train-3 failed\nverdict[disk-full]: the disk is full\n")


def test_a_command_finds_the_message_in_its_environment() -> None:
    made = of_verdict("stall", {**VERDICT, "outcome": "stalled"}, run_dir="runs/train-3")
    assert made.variables() == {
        "HOLDFAST_EVENT": "stall",
        "HOLDFAST_OUTCOME": "stalled",
        "HOLDFAST_CAUSE": "disk-full",
        "HOLDFAST_VERDICT": first_lines(VERDICT),
        "HOLDFAST_RUN_DIR": "runs/train-3",
    }


def test_without_a_finding_the_summary_is_sent() -> None:
    assert first_lines({"findings": [], "summary": "ended by itself"}) == "ended by itself"
    assert (
        first_lines({"findings": [], "summary": "ended"}, "restarted after 2 s")
        == "restarted after 2 s\nended"
    )


def test_the_last_message_is_an_end_or_a_failure() -> None:
    assert [last_event(one) for one in ("finished", "stopped-early", "ended")] == ["end"] * 3
    assert [last_event(one) for one in ("failed", "killed", "stalled", "running", "")] == ["failure"] * 5
    assert [Notice(kind, "r", "d").final for kind in notice.KINDS] == [False, False, False, True, True]


def test_a_long_verdict_is_cut() -> None:
    assert len(notice.shorten("x" * 5000)) == 1500
    assert notice.shorten("short") == "short"


def test_the_step_is_left_out_where_no_training_was_seen() -> None:
    assert Notice("end", "r", "runs/r", step=0).body == "run folder: runs/r"
    assert Notice("end", "r", "runs/r", step=0, of=10).body == "step 0 of 10\nrun folder: runs/r"

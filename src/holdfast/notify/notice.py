"""One message about a run: what happened, the first lines of the verdict, and where the run folder is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from holdfast.terminal_text import visible

NoticeKind = Literal["stall", "recovered", "restart", "failure", "end", "test"]
KINDS: tuple[NoticeKind, ...] = ("stall", "recovered", "restart", "failure", "end")
#: Of the JSON that a webhook gets. It grows when a field changes its meaning or goes; new fields do not change it.
SCHEMA = "holdfast.notification/1"

_MOST_LINES, _MOST_CHARACTERS = 6, 1500
_ENDED_WELL = ("finished", "stopped-early", "ended")
_HEADLINES = {
    "stall": "{run} is stalled",
    "recovered": "{run} moves again",
    "restart": "{run} is restarted",
    "failure": "{run} {outcome}",
    "end": "{run} {outcome}",
    "test": "a test message of Holdfast",
}
_OUTCOMES = {
    "finished": "finished",
    "stopped-early": "stopped early",
    "ended": "ended",
    "failed": "failed",
    "killed": "was killed",
    "stalled": "stalled",
    "running": "lost its supervisor, and may still run",
}


@dataclass(frozen=True, slots=True)
class Notice:
    event: NoticeKind
    run: str  # the name of the run
    run_dir: str  # as a person finds it again
    outcome: str = ""
    cause: str = ""
    verdict: str = ""  # the first lines, without secrets
    step: int | None = None
    of: int | None = None
    host: str = ""  # only where the user wants it to be sent
    at: str = ""  # UTC, ISO 8601

    @property
    def final(self) -> bool:
        """The last message of a run; there is exactly one."""
        return self.event in ("failure", "end", "test")

    @property
    def title(self) -> str:
        outcome = _OUTCOMES.get(self.outcome, self.outcome or "ended")
        where = f" on {self.host}" if self.host else ""
        return "Holdfast: " + _HEADLINES[self.event].format(run=self.run, outcome=outcome) + where

    @property
    def body(self) -> str:
        steps = (
            f"step {self.step or 0}" + (f" of {self.of}" if self.of else "") if self.step or self.of else ""
        )
        return "\n".join(line for line in (self.verdict, steps, f"run folder: {self.run_dir}") if line)

    def as_json(self) -> dict[str, Any]:
        """What a webhook gets. `text` is what Slack, Mattermost and Rocket.Chat show of it."""
        return {
            "schema": SCHEMA,
            "event": self.event,
            "run": self.run,
            "run_dir": self.run_dir,
            "outcome": self.outcome,
            "cause": self.cause,
            "verdict": self.verdict,
            "step": self.step,
            "of": self.of,
            "host": self.host,
            "at": self.at,
            "text": f"{self.title}\n{self.body}",
        }

    def variables(self) -> dict[str, str]:
        """What a command finds in its environment."""
        return {
            "HOLDFAST_EVENT": self.event,
            "HOLDFAST_OUTCOME": self.outcome,
            "HOLDFAST_CAUSE": self.cause,
            "HOLDFAST_VERDICT": self.verdict,
            "HOLDFAST_RUN_DIR": self.run_dir,
        }


def trial_notice(run_dir: str, at: str) -> Notice:
    text = "This is a test: stalls, restarts and the end of a run arrive in this way."
    return Notice("test", "test", run_dir, outcome="finished", verdict=text, at=at)


def last_event(outcome: str) -> NoticeKind:
    return "end" if outcome in _ENDED_WELL else "failure"


def of_verdict(event: NoticeKind, verdict: Mapping[str, Any], *, run_dir: str, why: str = "") -> Notice:
    """A message from what `holdfast explain --json` prints. `why` is what the supervisor said of the event."""
    findings = verdict.get("findings") or []
    return Notice(
        event,
        run=str(verdict.get("run", "")),
        run_dir=run_dir,
        outcome=str(verdict.get("outcome", "")),
        cause=str(findings[0]["cause"]) if findings else "",
        verdict=first_lines(verdict, why),
        step=verdict.get("step"),
        of=verdict.get("of"),
    )


def first_lines(verdict: Mapping[str, Any], why: str = "") -> str:
    """The verdict as its reader sees it on a telephone: the cause, two facts, what to change."""
    lines = [why] if why else []
    findings = verdict.get("findings") or []
    if findings:
        first = findings[0]
        lines.append(f"verdict[{first['cause']}]: {first['title']}")
        lines += [f"because {fact['fact']}" for fact in first.get("because", [])[:2]]
        lines += [f"change {remedy['do']}" for remedy in first.get("remedies", [])[:1]]
    elif verdict.get("summary"):
        lines.append(str(verdict["summary"]))
    return shorten("\n".join(" ".join(line.split()) for line in lines[:_MOST_LINES]))


def shown(notice: Notice) -> Notice:
    """With its control characters visible: an exception may hold some that no variable and no JSON can have."""
    return replace(
        notice, run=visible(notice.run), run_dir=visible(notice.run_dir), cause=visible(notice.cause),
        outcome=visible(notice.outcome), verdict=visible(notice.verdict), host=visible(notice.host),
    )  # fmt: skip


def shorten(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"

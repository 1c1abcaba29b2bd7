"""The judgement: evidence in, ranked causes out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.explain.causes import BY_SLUG, CAUSES
from holdfast.explain.compare.last_good import since_last_good
from holdfast.explain.evidence import Attempt, Evidence
from holdfast.explain.finding import Fact, Finding, Outcome, RuledOut, Strength, Verdict
from holdfast.explain.gather import gather
from holdfast.explain.gather_log import gather_log
from holdfast.explain.outcome import outcome, summary
from holdfast.explain.rank import rank
from holdfast.explain.readings.end import KERNEL_LOG
from holdfast.explain.rule import Group
from holdfast.explain.unknown import unknown
from holdfast.explain.warned import warned
from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder


def explain(path: Path | RunFolder, now: float | None = None, *, compare: bool = True) -> Verdict:
    """Why the run in this folder ended, or why it does not move. Reads the folder and its neighbours, nothing else."""
    folder = path.path if isinstance(path, RunFolder) else Path(path)
    evidence = gather(folder, now=time.time() if now is None else now)
    verdict = judge(evidence)
    if not compare or verdict.went_well:
        return verdict
    return replace(verdict, changes=since_last_good(evidence, judge))


def explain_log(path: Path | None, now: float | None = None, *, ask_machine: bool = True) -> Verdict:
    """The same for a log alone, or for standard input where no path is given. `ask_machine`: it may have run here."""
    return judge(gather_log(path, now=time.time() if now is None else now, ask_machine=ask_machine))


def judge(evidence: Evidence) -> Verdict:
    """The same for evidence in hand. Pure."""
    found: list[Finding] = []
    ruled_out: list[RuledOut] = []
    doubts: list[Fact] = []
    for cause in CAUSES:
        try:
            said = cause.look(evidence)
        except Exception as error:  # a journal of another version must not cost the whole answer
            values = {"cause": cause.slug, "error": f"{type(error).__name__}: {error}"}
            doubts.append(Fact("cause.not-judged", values, "holdfast"))
            continue
        if isinstance(said, Finding):
            found.append(said)
        elif said is not None:
            ruled_out.append(said)
    how = outcome(evidence)
    found = [_if_counted(_as_printed(one, evidence), evidence) for one in found]
    ranked = rank([_while_it_lives(one) if how == Outcome.RUNNING else one for one in found], how)
    if not ranked and how not in (Outcome.FINISHED, Outcome.RUNNING):
        ranked = (unknown(evidence, how),)
    return Verdict(
        run=evidence.name,
        outcome=how,
        step=evidence.step,
        of=evidence.planned,
        summary=summary(evidence, how),
        findings=ranked,
        ruled_out=tuple(ruled_out),
        known=(*_known(evidence, how), *doubts),
        warned=warned(evidence),
        extra=_extra(evidence),
    )


def _while_it_lives(finding: Finding) -> Finding:
    """A run that is close to its limit of memory and still runs has not run out of it."""
    memory = BY_SLUG[finding.cause].group is Group.MEMORY
    return replace(finding, strength=Strength.POSSIBLE) if memory and finding.ends else finding


def _as_printed(finding: Finding, evidence: Evidence) -> Finding:
    """Printed words alone establish nothing: anybody can print them. Where nothing says that it failed, they are no
    more than a mention. Facts of records that a log does not have are left out."""
    if not evidence.log:
        return finding
    because = [
        one for one in finding.because if not one.source or one.source.startswith((evidence.log, KERNEL_LOG))
    ]
    by_kernel = any(one.source == KERNEL_LOG for one in because)
    mentioned = not evidence.went_wrong and all(one.kind in _WORDS for one in because)
    most = Strength.ESTABLISHED if by_kernel else Strength.POSSIBLE if mentioned else Strength.SUPPORTED
    remedies = [one for one in finding.remedies if one.kind != "report.open"]  # there is no run to report on
    return replace(finding, strength=min(finding.strength, most), because=because, remedies=remedies)


#: Parts of the probe that count steps, and causes outside the group of steps that rest on their counts.
_COUNTING = frozenset(
    {"callback_list", "train_batches", "trainer_hooks", "fit_sampling", "custom_loop", "tensorflow_hooks",
     "inner_steps", "jax_jit", "torch_hooks"}
)  # fmt: skip
_BY_COUNTS = frozenset({"dataset-empty", "data-silently-dropped", "already-at-target", "loss-not-falling"})


def _if_counted(finding: Finding, evidence: Evidence) -> Finding:
    """A part of the probe that failed has counted up to there: what rests on its counts is no more than possible."""
    by_counts = finding.cause in _BY_COUNTS or BY_SLUG[finding.cause].group is Group.STEPS
    if not by_counts or evidence.error is not None:
        return finding
    failed = any(one.event.part in _COUNTING for one in evidence.all(ev.ProbeFailed))
    return replace(finding, strength=min(finding.strength, Strength.POSSIBLE)) if failed else finding


_WORDS = ("error.quoted", "output.line")


def blames(verdict: Verdict) -> bool:
    return any(one.strength >= Strength.SUPPORTED and not one.normal for one in verdict.findings)


def _known(evidence: Evidence, how: Outcome) -> list[Fact]:
    facts = [_attempt(one) for one in evidence.earlier]
    if evidence.ended is None and how in (Outcome.KILLED, Outcome.RUNNING) and not evidence.log:
        facts += _alive(evidence)
    facts += _given_up(evidence) + _of_the_group(evidence)
    facts += _from_outside(evidence)
    for watch in evidence.all(ev.WatchFailed):
        facts.append(
            Fact("watch.failed", {"part": watch.event.part, "error": watch.event.error}, watch.source)
        )
    for probe in evidence.all(ev.ProbeFailed):
        facts.append(
            Fact("probe.failed", {"part": probe.event.part, "error": probe.event.error}, probe.source)
        )
    return [*facts, *evidence.missing]


def _from_outside(evidence: Evidence) -> list[Fact]:
    """Of a run whose Python the probe could not enter, unless another one below it was observed."""
    left_out = evidence.first(ev.ProbeLeftOut)
    if left_out is None or evidence.probed:
        return []
    values = {"python": left_out.event.python, "implementation": left_out.event.implementation}
    return [Fact("probe.left-out", values, left_out.source)]


def _attempt(attempt: Attempt) -> Fact:
    values = {
        "attempt": attempt.number,
        "ended": attempt.ended,
        "seconds": attempt.duration_s,
        "step": attempt.step,
    }
    return Fact("attempt.ended", values, "journal.jsonl")


def _given_up(evidence: Evidence) -> list[Fact]:
    """What left some of the fits and was caught: a search that prunes, or a fold that did not work."""
    left = [fit.done for fit in evidence.given_up if fit.done is not None]
    if not left:
        return []
    error = left[-1].event.raised
    lines = [one.event.user_line for one in evidence.all(ev.ExceptionRaised) if one.event.type == error]
    values = {"fits": len(left), "of": evidence.fit_count, "error": error, "line": lines[-1] if lines else ""}
    return [Fact("fits.abandoned", values, left[-1].source)]


_SLOW: tuple[ev.RemarkKind, ...] = ("straggler", "exchange", "slow-link")


def _of_the_group(evidence: Evidence) -> list[Fact]:
    """What the coordinator of several processes found slow, and went on with: the newest of each kind."""
    newest = {said.event.remark: said for said in evidence.all(ev.GroupRemark)}
    slow = [newest[kind] for kind in _SLOW if kind in newest]
    return [Fact("group.remark", {"text": said.event.text}, said.source) for said in slow]


def _alive(evidence: Evidence) -> list[Fact]:
    if evidence.left:
        return [Fact("process.left", {"alive": evidence.alive}, "journal.jsonl")]
    if evidence.alive is None:
        return [Fact("process.unknown", {}, "journal.jsonl")]
    if evidence.alive:
        return [Fact("process.alive", {}, "its process number")]
    return [Fact("process.gone", {}, "journal.jsonl")]


def _extra(evidence: Evidence) -> dict[str, Any]:
    hashed = evidence.all(ev.WeightsHashed)
    return {"weights_sha256": hashed[-1].event.sha256} if hashed else {}

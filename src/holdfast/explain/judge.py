"""The judgement: evidence in, ranked causes out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.explain.causes import BY_SLUG, CAUSES
from holdfast.explain.cell_file import with_cell_named
from holdfast.explain.compare.last_good import since_last_good
from holdfast.explain.evidence import Attempt, Evidence
from holdfast.explain.experiment import experiment_result
from holdfast.explain.finding import Fact, Finding, Outcome, RuledOut, Strength, Verdict, facts
from holdfast.explain.gather import gather
from holdfast.explain.outcome import outcome, summary
from holdfast.explain.rank import rank
from holdfast.explain.readings.end import KERNEL_LOG
from holdfast.explain.remedies import for_program
from holdfast.explain.rule import Group
from holdfast.explain.unknown import unknown
from holdfast.explain.warned import warned
from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder


def explain(
    path: Path | RunFolder, now: float | None = None, *, compare: bool = True, attempt: int | None = None
) -> Verdict:
    """Why the run in this folder ended, or why it does not move. Reads the folder and its neighbours, nothing else.

    `attempt`: explain this one instead of the last.
    """
    folder = path.path if isinstance(path, RunFolder) else Path(path)
    evidence = gather(folder, now=time.time() if now is None else now, attempt=attempt)
    verdict = judge(evidence)
    if compare and not verdict.went_well:
        verdict = replace(verdict, changes=since_last_good(evidence, judge))
    return with_cell_named(verdict, evidence)


def explain_log(path: Path | None, now: float | None = None, *, ask_machine: bool = True) -> Verdict:
    """The same for a log alone, or for standard input where no path is given. `ask_machine`: it may have run here."""
    # The patterns of logs would cost the explanation of a run's folder a tenth of its time.
    from holdfast.explain.gather_log import gather_log

    return judge(gather_log(path, now=time.time() if now is None else now, ask_machine=ask_machine))


def judge(evidence: Evidence) -> Verdict:
    """The same for evidence in hand. Pure."""
    found, ruled_out, doubts = _judged(evidence)
    how = outcome(evidence)
    found = [
        experiment_result.weighed(_if_counted(_as_printed(one, evidence), evidence), evidence)
        for one in found
    ]
    found = _beside_a_break([_while_it_lives(one) if how == Outcome.RUNNING else one for one in found])
    ranked = tuple(for_program(one, evidence) for one in rank(found, how))
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
        known=(*facts(experiment_result.offer(ranked, evidence)), *_known(evidence, how), *doubts),
        warned=tuple(one for one in warned(evidence) if not any(one in found.because for found in ranked)),
        extra=_extra(evidence),
    )


def _judged(evidence: Evidence) -> tuple[list[Finding], list[RuledOut], list[Fact]]:
    """What every cause says; and what could not be judged, since a journal of another version must not cost it all."""
    found: list[Finding] = []
    ruled_out: list[RuledOut] = []
    doubts: list[Fact] = []
    for cause in CAUSES:
        try:
            answer = cause.look(evidence)
        except Exception as error:
            values = {"cause": cause.slug, "error": f"{type(error).__name__}: {error}"}
            doubts.append(Fact("cause.not-judged", values, "holdfast"))
            continue
        if isinstance(answer, Finding):
            found.append(answer)
        elif answer is not None:
            ruled_out.append(answer)
    return found, ruled_out, doubts


def _while_it_lives(finding: Finding) -> Finding:
    """A run that is close to its limit of memory and still runs has not run out of it."""
    memory = BY_SLUG[finding.cause].group is Group.MEMORY
    return replace(finding, strength=Strength.POSSIBLE) if memory and finding.ends else finding


def _beside_a_break(found: list[Finding]) -> list[Finding]:
    """What only keeps a network from learning makes no loss NaN, and cannot be seen where one is."""
    sure = [one for one in found if one.strength >= Strength.SUPPORTED]
    if not any("loss-not-finite" in (one.cause, one.led_to) for one in sure):
        return found
    return [
        replace(one, strength=Strength.POSSIBLE)
        if one.led_to == "loss-not-falling" and "loss-not-finite" not in BY_SLUG[one.cause].specialises
        else one
        for one in found
    ]


#: Facts that are no more than printed words.
_WORDS = ("error.quoted", "output.line")


def _as_printed(finding: Finding, evidence: Evidence) -> Finding:
    """Printed words alone establish nothing: anybody can print them. Where nothing says that it failed, they are no
    more than a mention. Facts of records that a log does not have are left out."""
    if not evidence.log:
        return _by_output(finding, evidence)
    there = (evidence.log, KERNEL_LOG)
    because = [one for one in finding.because if not one.source or one.source.startswith(there)]
    by_kernel = any(one.source == KERNEL_LOG for one in because)
    mentioned = not evidence.went_wrong and all(one.kind in _WORDS for one in because)
    most = Strength.ESTABLISHED if by_kernel else Strength.POSSIBLE if mentioned else Strength.SUPPORTED
    remedies = [one for one in finding.remedies if one.kind != "report.open"]  # there is no run to report on
    return replace(finding, strength=min(finding.strength, most), because=because, remedies=remedies)


_PRINTED_GROUPS = (Group.NUMERICS, Group.STEPS, Group.CONTROL)


def _by_output(finding: Finding, evidence: Evidence) -> Finding:
    """The same for a watched run whose course is known by its output alone."""
    if evidence.printed is None or BY_SLUG[finding.cause].group not in _PRINTED_GROUPS:
        return finding
    words = {one.source for one in evidence.all(ev.WarningSeen) if one.by == "supervisor"}
    sources = [one.source for one in finding.because if one.source]
    printed = all(source.startswith("output.log") or source in words for source in sources)
    return replace(finding, strength=min(finding.strength, Strength.SUPPORTED)) if printed else finding


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


def blames(verdict: Verdict) -> bool:
    return any(one.strength >= Strength.SUPPORTED and not one.normal for one in verdict.findings)


def _known(evidence: Evidence, how: Outcome) -> list[Fact]:
    open_end = (Outcome.KILLED, Outcome.ENDED, Outcome.RUNNING)
    unknown_end = evidence.ended is None and how in open_end and not evidence.log
    watches, probes = evidence.all(ev.WatchFailed), evidence.all(ev.ProbeFailed)
    return facts(
        [_attempt(one) for one in evidence.earlier],
        unknown_end and _alive(evidence),
        _given_up(evidence),
        _of_the_group(evidence),
        _from_outside(evidence),
        [one.fact("watch.failed", part=one.event.part, error=one.event.error) for one in watches],
        [one.fact("probe.failed", part=one.event.part, error=one.event.error) for one in probes],
        evidence.missing,
    )


def _from_outside(evidence: Evidence) -> Fact | None:
    """Of a run whose Python the probe could not enter, unless another one below it was observed."""
    left_out = evidence.first(ev.ProbeLeftOut)
    if evidence.probed:
        return None
    if left_out is None:
        return evidence.printed.fact("view.from-outside") if evidence.printed is not None else None
    event = left_out.event
    return left_out.fact("probe.left-out", python=event.python, implementation=event.implementation)


def _alive(evidence: Evidence) -> Fact:
    if evidence.left:
        return Fact("process.left", {"alive": evidence.alive}, "journal.jsonl")
    if evidence.alive is None:
        return Fact("process.unknown", {}, "journal.jsonl")
    return (
        Fact("process.alive", {}, "its process number")
        if evidence.alive
        else Fact("process.gone", {}, "journal.jsonl")
    )


def _attempt(one: Attempt) -> Fact:
    values = {"attempt": one.number, "ended": one.ended, "seconds": one.duration_s, "step": one.step}
    return Fact("attempt.ended", values, "journal.jsonl")


def _given_up(evidence: Evidence) -> Fact | None:
    """What left some of the fits and was caught: a search that prunes, or a fold that did not work."""
    left = [fit.done for fit in evidence.given_up if fit.done is not None]
    if not left:
        return None
    error = left[-1].event.raised
    lines = [one.event.user_line for one in evidence.all(ev.ExceptionRaised) if one.event.type == error]
    line = lines[-1] if lines else ""
    return left[-1].fact("fits.abandoned", fits=len(left), of=evidence.fit_count, error=error, line=line)


_SLOW: tuple[ev.RemarkKind, ...] = ("straggler", "exchange", "slow-link")


def _of_the_group(evidence: Evidence) -> list[Fact]:
    """What the coordinator of several processes found slow, and continued with: the newest of each kind."""
    newest = {one.event.remark: one for one in evidence.all(ev.GroupRemark)}
    return [
        newest[kind].fact("group.remark", text=newest[kind].event.text) for kind in _SLOW if kind in newest
    ]


def _extra(evidence: Evidence) -> dict[str, Any]:
    hashed = evidence.last(ev.WeightsHashed)
    return {"weights_sha256": hashed.event.sha256} if hashed is not None else {}

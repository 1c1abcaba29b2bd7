"""The judgement: evidence in, ranked causes out."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.explain.causes import BY_SLUG, CAUSES
from holdfast.explain.causes.declare import Group
from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact, Finding, RuledOut, Strength, Verdict
from holdfast.explain.gather import gather
from holdfast.explain.outcome import outcome, summary
from holdfast.explain.rank import rank
from holdfast.explain.unknown import unknown
from holdfast.explain.warned import warned
from holdfast.explain.words import span
from holdfast.journal import events as ev
from holdfast.journal.folder import RunFolder


def explain(path: Path | RunFolder, now: float | None = None, *, compare: bool = True) -> Verdict:
    """Why the run in this folder ended, or why it does not move. Reads the folder and its neighbours, nothing else."""
    folder = path.path if isinstance(path, RunFolder) else Path(path)
    evidence = gather(folder, now=time.time() if now is None else now)
    verdict = judge(evidence)
    if not compare or verdict.went_well:
        return verdict
    from holdfast.explain.neighbours import since_last_good

    return replace(verdict, changes=since_last_good(evidence))


def judge(evidence: Evidence) -> Verdict:
    """The same for evidence in hand. Pure."""
    found: list[Finding] = []
    ruled_out: list[RuledOut] = []
    doubts: list[Fact] = []
    for cause in CAUSES:
        try:
            said = cause.judge(evidence)
        except Exception as error:  # a journal of another version must not cost the whole answer
            doubts.append(
                Fact(
                    f"the cause {cause.slug} could not be judged: {type(error).__name__}: {error}", "holdfast"
                )
            )
            continue
        if isinstance(said, Finding):
            found.append(said)
        elif said is not None:
            ruled_out.append(said)
    word = outcome(evidence)
    ranked = rank([_while_it_lives(one) if word == "running" else one for one in found], word)
    if not ranked and word not in ("finished", "running"):
        ranked = (unknown(evidence, word),)
    return Verdict(
        run=evidence.name,
        outcome=word,
        step=evidence.step,
        of=evidence.planned,
        summary=summary(evidence, word),
        findings=ranked,
        ruled_out=tuple(ruled_out),
        known=(*_known(evidence, word), *doubts),
        warned=warned(evidence),
        extra=_extra(evidence),
    )


def _while_it_lives(finding: Finding) -> Finding:
    """A run that is close to its limit of memory and still runs has not run out of it."""
    memory = BY_SLUG[finding.cause].group is Group.MEMORY
    return replace(finding, strength=Strength.POSSIBLE) if memory and finding.ends else finding


def blames(verdict: Verdict) -> bool:
    return any(one.strength >= Strength.SUPPORTED and not one.normal for one in verdict.findings)


def _known(evidence: Evidence, word: str) -> list[Fact]:
    facts = []
    for attempt in evidence.earlier:
        after = f" after {span(attempt.duration_s)}" if attempt.duration_s is not None else ""
        reached = f", step {attempt.step:,}" if attempt.step is not None else ""
        facts.append(
            Fact(f"attempt {attempt.number} ended{after}: {attempt.ended}{reached}", "journal.jsonl")
        )
    if evidence.ended is None and word in ("killed", "running"):
        facts += _alive(evidence)
    facts += _given_up(evidence) + _of_the_group(evidence)
    for said in evidence.all(ev.WatchFailed):
        facts.append(
            Fact(f"a part of the watch did not work: {said.event.part}: {said.event.error}", said.source)
        )
    for probe in evidence.all(ev.ProbeFailed):
        facts.append(
            Fact(f"a part of the probe did not work: {probe.event.part}: {probe.event.error}", probe.source)
        )
    return facts + [Fact(text, "") for text in evidence.missing]


def _given_up(evidence: Evidence) -> list[Fact]:
    """What left some of the fits and was caught: a search that prunes, or a fold that did not work."""
    left = [fit.done for fit in evidence.given_up if fit.done is not None]
    if not left:
        return []
    kind = left[-1].event.raised
    places = [one.event.user_line for one in evidence.all(ev.ExceptionRaised) if one.event.type == kind]
    where = f" at {places[-1]}" if places and places[-1] else ""
    total = evidence.fit_count
    were = "was" if len(left) == 1 else "were"
    words = f"{len(left)} of {total} fits {were} left by {kind}{where}; the script caught it and went on"
    return [Fact(words, left[-1].source)]


def _of_the_group(evidence: Evidence) -> list[Fact]:
    """What the conductor of several processes found slow, and went on with: the newest of each kind."""
    newest = {said.event.facts.get("remark"): said for said in evidence.all(ev.NoteMade)}
    slow = [newest[kind] for kind in ("straggler", "exchange", "slow-link") if kind in newest]
    return [Fact(said.event.text, said.source) for said in slow]


def _alive(evidence: Evidence) -> list[Fact]:
    if evidence.alive is None:
        return [Fact("whether the process still lives cannot be known from this machine", "journal.jsonl")]
    if evidence.alive:
        return [Fact("the process lives", "its process number")]
    return [Fact("the process is gone, and so is the supervisor, which recorded no end", "journal.jsonl")]


def _extra(evidence: Evidence) -> dict[str, Any]:
    for said in reversed(evidence.all(ev.NoteMade)):
        digest = said.event.facts.get("weights_sha256")
        if digest:
            return {"weights_sha256": digest}
    return {}

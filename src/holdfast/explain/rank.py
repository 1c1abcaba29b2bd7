"""Puts findings in order: the root before what it led to, the end before the course, the specific first."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.explain.causes import CAUSES
from holdfast.explain.finding import Finding, Outcome, Strength

#: A general cause -> those that say the same more exactly. The general one is dropped beside any of them.
GENERAL: dict[str, frozenset[str]] = {
    general: frozenset(one.slug for one in CAUSES if general in one.specialises)
    for general in {slug for one in CAUSES for slug in one.specialises}
}
MECHANISMS = frozenset(one.slug for one in CAUSES if one.mechanism)
_BREAKS = frozenset(one.slug for one in CAUSES if one.breaks)


def rank(findings: Sequence[Finding], outcome: Outcome) -> tuple[Finding, ...]:
    """The findings that stand, the verdict first."""
    standing = _without_the_general(findings)
    ended_badly = outcome in (Outcome.FAILED, Outcome.KILLED, Outcome.STALLED)
    about_the_end = _about_the_end(findings)
    depth = _depths(standing)

    def order(pair: tuple[int, Finding]) -> tuple[int, ...]:
        place, finding = pair
        blames = finding.strength >= Strength.SUPPORTED
        aside = ended_badly and finding.cause not in about_the_end
        quiet = finding.normal and not finding.ends  # no fault, and no end: said after what is one
        mechanism, deep = finding.cause in MECHANISMS, depth.get(finding.cause, 0)
        return (not blames, quiet, aside, deep, mechanism, -finding.strength, place)

    return tuple(finding for _, finding in sorted(enumerate(standing), key=order))


def _depths(standing: Sequence[Finding]) -> dict[str, int]:
    """How many findings that blame led to a cause, one after the other. A circle ends after a round for each."""
    leads = {one.cause: one.led_to for one in standing if one.strength >= Strength.SUPPORTED}
    depth: dict[str, int] = {}
    for _ in standing:
        for cause, led_to in leads.items():
            if led_to in leads and led_to != cause:
                depth[led_to] = min(max(depth.get(led_to, 0), depth.get(cause, 0) + 1), len(leads))
    return depth


def _without_the_general(findings: Sequence[Finding]) -> list[Finding]:
    """What only spoiled the course says nothing about what broke off, however special it is."""
    kept = []
    for finding in findings:
        special = GENERAL.get(finding.cause, frozenset())
        rivals = [
            one.strength
            for one in findings
            if one.cause in special and (one.ends or finding.cause not in _BREAKS)
        ]
        better = max(rivals, default=0)
        if better >= Strength.SUPPORTED or (better and better >= finding.strength):
            continue
        kept.append(finding)
    return kept


def _about_the_end(findings: Sequence[Finding]) -> frozenset[str]:
    """Causes that say why it ended, and those that led to one of them."""
    ending = {finding.cause for finding in findings if finding.ends}
    for _ in findings:
        more = {finding.cause for finding in findings if finding.led_to in ending} - ending
        if not more:
            break
        ending |= more
    return frozenset(ending)

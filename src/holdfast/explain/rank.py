"""Puts findings in order: the root before what it led to, the end before the course, the specific first."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.explain.finding import Finding, Strength

#: What happened, as against why. They are the verdict only when no cause behind them is more than possible.
MECHANISMS = frozenset(
    {"killed-for-memory", "memory-refused", "device-memory-exhausted", "worker-died", "exit-hang", "stopped-on-nan",
     "callback-raised", "callback-blocked", "loss-not-finite", "swapping"}
)  # fmt: skip

#: A general reading -> those that say the same more exactly. The general one is dropped beside any of them.
GENERAL: dict[str, frozenset[str]] = {
    "script-error": frozenset(
        {"undecodable-image", "wrong-channels", "corrupt-record", "class-id-out-of-range", "mixed-image-sizes",
         "disk-full", "checkpoint-torn", "cache-lock-stale", "file-locked", "too-many-open-files", "path-missing",
         "permission-denied", "callback-raised", "memory-refused", "device-memory-exhausted",
         "device-memory-fragmented", "device-memory-held-by-others", "larger-sample-than-before", "batched-twice",
         "generator-not-thread-safe", "download-blocked", "monitor-missing", "thread-limit", "shared-memory-full",
         "terminal-signal", "bad-boxes", "input-not-finite", "dataset-empty", "peer-missing", "uneven-batches",
         "worker-died", "stopped-on-nan", "nothing-trainable", "preempted"}
    ),
    "native-crash": frozenset(
        {"disk-full", "memory-refused", "thread-limit", "shared-memory-full", "illegal-instruction",
         "device-memory-exhausted"}
    ),
    "killed-from-outside": frozenset({"killed-for-memory", "preempted", "host-rebooted"}),
    "loss-not-finite": frozenset(
        {"learning-rate-too-high", "loss-singular", "half-precision-overflow", "input-not-finite", "bad-boxes",
         "input-scale-mismatch", "class-id-out-of-range"}
    ),
    "input-not-finite": frozenset({"bad-boxes"}),
    "loss-not-falling": frozenset(
        {"nothing-trainable", "learning-rate-collapsed", "no-positive-anchors", "input-scale-mismatch",
         "loss-not-finite", "learning-rate-too-high", "loss-singular", "input-not-finite", "bad-boxes"}
    ),
    "stopped-by-callback": frozenset({"early-stopping", "stopped-on-nan"}),
    "callback-raised": frozenset({"disk-full", "file-locked", "permission-denied", "path-missing", "monitor-missing",
                                  "device-memory-exhausted", "memory-refused"}),
    "callback-blocked": frozenset({"waiting-for-a-person", "output-pipe-full", "deadlock", "process-suspended"}),
    "worker-died": frozenset(),
    "input-blocked": frozenset(
        {"worker-died", "fork-deadlock", "deadlock", "filter-never-passes", "loader-swallows-errors",
         "waiting-for-a-person", "output-pipe-full", "process-suspended", "peer-missing", "download-blocked"}
    ),
    "input-starved": frozenset({"storage-slow", "shuffle-refill-pause"}),
    "memory-leak": frozenset(
        {"retracing", "model-rebuilt", "evaluation-accumulates", "worker-memory-grows", "cache-too-large",
         "shuffle-buffer-too-large", "prefetch-too-deep"}
    ),
    "dataset-exhausted": frozenset({"dataset-empty", "generator-exhausted", "data-silently-dropped",
                                    "cardinality-changes", "dataset-smaller-than-batch", "callback-raised"}),
    "dataset-empty": frozenset({"dataset-smaller-than-batch", "already-at-target", "path-missing"}),
    "recompiling": frozenset({"retracing"}),
}  # fmt: skip

_BREAKS = frozenset({"script-error", "native-crash", "callback-raised", "killed-from-outside"})


def rank(findings: Sequence[Finding], outcome: str) -> tuple[Finding, ...]:
    """The findings that stand, the verdict first."""
    standing = _without_the_general(findings)
    ended_badly = outcome in ("failed", "killed", "stalled")
    about_the_end = _about_the_end(standing)

    def order(pair: tuple[int, Finding]) -> tuple[int, int, int, int, int, int]:
        place, finding = pair
        blames = finding.strength >= Strength.SUPPORTED
        aside = ended_badly and finding.cause not in about_the_end
        quiet = finding.normal and not finding.ends  # no fault, and no end: said after what is one
        return (not blames, quiet, aside, finding.cause in MECHANISMS, -finding.strength, place)

    return tuple(finding for _, finding in sorted(enumerate(standing), key=order))


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


def _about_the_end(findings: list[Finding]) -> frozenset[str]:
    """Causes that say why it ended, and those that led to one of them."""
    ending = {finding.cause for finding in findings if finding.ends}
    for _ in findings:
        more = {finding.cause for finding in findings if finding.led_to in ending} - ending
        if not more:
            break
        ending |= more
    return frozenset(ending)

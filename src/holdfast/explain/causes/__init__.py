"""The causes that `explain` looks for. To add one, write its file and add its slug to the table."""

from importlib import import_module

from holdfast.explain.rule import Cause

#: By the folder of the rule. The specific before the general: among equals the earlier one is named first.
_TABLE = {
    "memory": (
        "killed-for-memory",
        "killed-from-outside",
        "memory-refused",
        "shuffle-buffer-too-large",
        "cache-too-large",
        "prefetch-too-deep",
        "batched-twice",
        "array-copied",
        "memory-leak",
        "retracing",
        "model-rebuilt",
        "evaluation-accumulates",
        "worker-memory-grows",
        "swapping",
    ),
    "device": (
        "device-memory-exhausted",
        "device-memory-held-by-others",
        "device-memory-fragmented",
        "larger-sample-than-before",
    ),
    "data": (
        "input-starved",
        "storage-slow",
        "input-blocked",
        "shuffle-refill-pause",
        "dataset-empty",
        "dataset-smaller-than-batch",
        "undecodable-image",
        "wrong-channels",
        "corrupt-record",
        "data-silently-dropped",
        "bad-boxes",
        "class-id-out-of-range",
        "no-positive-anchors",
        "input-not-finite",
        "input-scale-mismatch",
        "mixed-image-sizes",
    ),
    "steps": (
        "dataset-exhausted",
        "generator-exhausted",
        "cardinality-changes",
        "epoch-never-ends",
        "validation-never-ends",
        "filter-never-passes",
    ),
    "control": (
        "early-stopping",
        "stopped-by-callback",
        "stopped-on-nan",
        "callback-raised",
        "callback-blocked",
        "waiting-for-a-person",
        "already-at-target",
        "monitor-missing",
        "learning-rate-collapsed",
        "nothing-trainable",
        "resume-lost-state",
        "silent-but-moving",
    ),
    "learning": (
        "output-units-mismatch",
        "output-loss-mismatch",
        "shapes-broadcast",
        "output-range-mismatch",
        "loss-task-mismatch",
        "input-constant",
        "labels-constant",
        "targets-not-scaled",
        "class-imbalance",
        "labels-unrelated",
        "metric-mismatch",
        "framework-warning",
    ),
    "numerics": (
        "learning-rate-too-high",
        "loss-singular",
        "half-precision-overflow",
        "loss-not-finite",
        "loss-not-falling",
    ),
    "weights": (
        "constant-initialisation",
        "no-hidden-activation",
        "learning-rate-too-low",
        "regularisation-too-strong",
        "dropout-too-strong",
        "batch-norm-misused",
        "dead-units",
        "saturated-units",
        "vanishing-gradients",
        "exploding-gradients",
        "too-few-updates",
    ),
    "storage": (
        "disk-full",
        "checkpoint-torn",
        "cache-lock-stale",
        "file-locked",
        "too-many-open-files",
        "path-missing",
        "permission-denied",
    ),
    "processes": (
        "worker-died",
        "fork-deadlock",
        "deadlock",
        "shared-memory-full",
        "output-pipe-full",
        "loader-swallows-errors",
        "generator-not-thread-safe",
        "native-crash",
        "thread-limit",
        "cpu-oversubscribed",
        "process-suspended",
        "terminal-signal",
        "exit-hang",
    ),
    "environment": (
        "script-error",
        "gpu-not-used",
        "eager-execution",
        "recompiling",
        "illegal-instruction",
        "download-blocked",
        "preempted",
        "host-rebooted",
        "peer-missing",
        "uneven-batches",
    ),
}


def _load(group: str, slug: str) -> Cause:
    name = slug.replace("-", "_")
    cause: Cause = getattr(import_module(f"{__name__}.{group}.{name}"), name)
    return cause


CAUSES: tuple[Cause, ...] = tuple(_load(group, slug) for group, slugs in _TABLE.items() for slug in slugs)
BY_SLUG = {cause.slug: cause for cause in CAUSES}

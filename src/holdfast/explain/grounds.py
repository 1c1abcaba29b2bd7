"""Questions that several causes ask of the evidence."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import pairwise

from holdfast.explain.evidence import Evidence
from holdfast.explain.fits import Fit, Said
from holdfast.explain.nodes import PipelineNode, op_name
from holdfast.explain.output import is_advice
from holdfast.explain.unconverted import Fact, Remedy
from holdfast.explain.words import clipped, size, span
from holdfast.journal import events as ev

#: How far back an error that ended the run is looked for in the output.
_LAST_LINES = 300
#: …and where a script that the probe was in ended without an exception: what it said long before is another story.
_VERY_LAST_LINES = 40
#: …and where it stands: what it was about.
_LAST_WORDS = 5
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
_REFUSED = re.compile(
    r"bad_alloc|^MemoryError|MemoryError:|Unable to allocate [\d.]+ \w+ for an array|Cannot allocate memory|"
    r"OOM when allocating tensor(?!.*GPU)|ran out of memory trying to allocate.*\bcpu\b|Failed to allocate memory",
    re.IGNORECASE,
)


#: Errors that only pass on that something else failed, and may have said why: a process below, or a kernel.
_PASSES_ON = frozenset(
    {"CalledProcessError", "BrokenProcessPool", "ChildFailedError", "ProcessExitedException", "ProcessRaisedException",
     "RemoteError", "UnknownError", "InternalError", "AbortedError", "CancelledError", "XlaRuntimeError",
     "JaxRuntimeError"}
)  # fmt: skip


def matched(evidence: Evidence, pattern: str, *, flags: int = 0) -> tuple[re.Match[str], Fact] | None:
    """The error that ended the run, where it says this: in the exception, else in the last lines printed.

    Lines that advise or guess prove nothing and are passed over.
    """
    error = evidence.error
    if error is None and not evidence.went_wrong and evidence.stall is None:
        return None
    matcher = re.compile(pattern, flags)
    if error is not None:
        for line in error.text.splitlines():
            hit = matcher.search(line)
            if hit and not is_advice(line, hit.start()):
                return hit, Fact(clipped(line), error.source)
        if error.message.strip() and error.type not in _PASSES_ON:
            return None  # an error that speaks for itself: what was printed before it is another story
    if error is None and evidence.exit_signal in _FROM_OUTSIDE and evidence.stall is None:
        return None  # somebody else ended it: what it had said of itself is not why
    for line_seen in reversed(evidence.output.lines[-_how_far_back(evidence) :]):
        hit = matcher.search(line_seen.text)
        if hit and not is_advice(line_seen.text, hit.start()):
            return hit, Fact(clipped(line_seen.text), line_seen.source)
    return None


def _how_far_back(evidence: Evidence) -> int:
    if evidence.stall is not None and evidence.error is None:
        return _LAST_WORDS
    told_inside = bool(evidence.all(ev.ProcessJoined)) and evidence.error is None and not evidence.crashed
    return _VERY_LAST_LINES if told_inside else _LAST_LINES


def users_line(evidence: Evidence) -> tuple[Fact, ...]:
    """The line of the user's own code that the exception left."""
    error = evidence.error
    if error is None or not error.user_line:
        return ()
    code = f": `{clipped(error.user_code, 90)}`" if error.user_code else ""
    return (Fact(f"the last line of your own code is {error.user_line}{code}", error.source),)


def lost_process(evidence: Evidence) -> Fact | None:
    """The error of a process whose partner went in the middle of a word: multiprocessing's pipe or socket broke."""
    error = evidence.error
    if error is None or error.type not in (
        "EOFError",
        "ConnectionResetError",
        "BrokenPipeError",
        "ConnectionRefusedError",
    ):
        return None
    inside = next((frame for frame in reversed(error.frames) if "multiprocessing/" in frame), None)
    return Fact(clipped(f"{error.text.splitlines()[0]}, in {inside}"), error.source) if inside else None


def reader_gone(evidence: Evidence) -> bool:
    """What it printed had a reader, and that is gone: `python train.py | head`."""
    error = evidence.error
    if error is None or error.type != "BrokenPipeError":
        return False
    return not any(
        re.search(r"multiprocessing/|socket|http|ssl\.py|urllib|requests/", frame) for frame in error.frames
    )


def refused_memory(evidence: Evidence) -> tuple[re.Match[str], Fact] | None:
    """An allocation on the host that was refused, in words; a full disk says nearly the same and is not it."""
    if full_disk(evidence) is not None:
        return None
    return matched(evidence, _REFUSED.pattern, flags=re.IGNORECASE)


#: A limit on the size of a file says nearly what a full disk says; "requested and written" is NumPy's word for both.
FULL_DISK = (
    r"No space left on device|\berrno ?= ?28\b|\[Errno 28\]|Disk quota exceeded|; File too large|\berrno ?= ?27\b|"
    r"\[Errno 27\]|OSError: \d+ requested and \d+ written|tempstate.*xhausted|xhausted.*tempstate"
)


def full_disk(evidence: Evidence) -> tuple[re.Match[str], Fact] | None:
    return matched(evidence, FULL_DISK)


def memory_end(evidence: Evidence) -> str | None:
    """How memory ended it: the slug of the mechanism, "" when it lives close to its limit, None when it did not."""
    if evidence.oom_ended or _killed_at_the_limit(evidence):
        return "killed-for-memory"
    if evidence.exit_signal != "SIGKILL" and evidence.went_wrong and refused_memory(evidence) is not None:
        return "memory-refused"
    if (evidence.oom_kills or 0) > 0 and evidence.exit_code != 0:
        return "killed-for-memory"  # a descendant was killed
    if evidence.ended is None and near_the_limit(evidence):
        return ""
    return None


def _killed_at_the_limit(evidence: Evidence) -> bool:
    unknown = evidence.oom_kills is None
    return (
        evidence.exit_signal == "SIGKILL"
        and not evidence.stopped_by_us
        and unknown
        and near_the_limit(evidence)
    )


def near_the_limit(evidence: Evidence, share: float = 0.9) -> bool:
    """The last sample stood close to the limit of memory."""
    if evidence.memory_limit is None or not evidence.samples:
        return False
    sample = evidence.samples[-1][1]
    used = max(sample.rss_bytes, sample.tree_rss_bytes, sample.memory_used_bytes or 0)
    return used > share * evidence.memory_limit[0]


def holders(evidence: Evidence) -> list[tuple[int, PipelineNode]]:
    """Nodes of the pipeline that keep elements, with what they keep when full, the largest first."""
    known = [(held, node) for node in evidence.nodes if (held := node.holds_bytes()) is not None]
    return sorted(known, key=lambda pair: -pair[0])


def kept_by_objects(evidence: Evidence) -> tuple[int, dict[str, object], str] | None:
    """The container of the user's that grew most: bytes, what the probe said of it, source."""
    surveys = evidence.all(ev.HoldingsSeen)
    first = (
        {str(item.get("name")): int(item.get("bytes") or 0) for item in surveys[0].event.items}
        if surveys
        else {}
    )
    best: tuple[int, dict[str, object], str] | None = None
    for said in surveys[-5:]:
        for item in said.event.items:
            held, name = int(item.get("bytes") or 0), str(item.get("name"))
            grew = held - first.get(name, 0)
            if (
                len(surveys) == 1
            ):  # one look: what is counted in entries may have grown, an array was there at once
                grew = held if item.get("type") in ("list", "dict", "deque", "set", "defaultdict") else 0
            if grew > (best[0] if best is not None else 0):
                best = (grew, item, said.source)
    return best


def buffered(evidence: Evidence, op: str, role: str = "train") -> tuple[int, int, str] | None:
    """What tf.data's own counters say a node held at most: bytes, elements, source."""
    best: tuple[int, int, str] | None = None
    for said in evidence.all(ev.PipelineSeen):
        for node in said.event.nodes if said.event.role == role else []:
            held = int(node.get("buffered_bytes") or 0)
            if op_name(str(node.get("name"))) == op and held > (best[0] if best is not None else 0):
                best = (held, int(node.get("buffered_elements") or 0), said.source)
    return best


def grew(evidence: Evidence) -> Fact:
    """The growth in one sentence."""
    grown = evidence.growth
    rise = grown.rise
    words = {
        "before-first-step": "before the first step of the fit",
        "at-fit-entry": "at once when the fit began",
        "before-fit": "before training began",
        "first-epoch": "in the first epoch, and no more after it",
        "first-epoch-so-far": "in the first epoch",
        "every-step": "at every step, over all epochs",
        "between-fits": "from fit to fit",
        "in-validation": "during validation",
        "in-workers": "in the loader processes",
        "one-jump": "in one jump",
        "one-step": f"within one step, the one after step {grown.last_step:,}",
    }.get(grown.when, "in all")
    per_step = f", {size(rise.per_step)} a step" if rise.steps > 3 and rise.per_step > 1024 else ""
    taken = f" within {span(rise.seconds)}" if rise.seconds > 0 else ""
    return Fact(f"memory rose by {size(rise.bytes)}{taken}, {words}{per_step}", rise.source)


def at_the_end(evidence: Evidence) -> tuple[Fact, ...]:
    """What was used of what was allowed when it was last measured."""
    alive = [
        (line, sample) for line, sample in evidence.samples if sample.rss_bytes
    ]  # a dead process uses nothing
    if evidence.memory_limit is None or not alive:
        return ()
    line, sample = alive[-1]
    limit, by = evidence.memory_limit
    # what a group is held to leaves out the pages of libraries that others share, which a process's own sum counts
    by_group = sample.memory_limit_bytes == limit and sample.memory_used_bytes
    used = by_group or max(sample.tree_rss_bytes, sample.rss_bytes)
    return (Fact(f"last measured at {size(used)}; {by} is {size(limit)}", f"vitals.jsonl:{line}"),)


# -- steps and stops ----------------------------------------------------------------------------


def steps_short(evidence: Evidence) -> tuple[Fit, int, list[int]] | None:
    """A fit with epochs of clearly fewer steps than planned, that nobody asked to stop: fit, plan, steps by epoch."""
    if any(fit.mixed for fit in evidence.fits):
        return None
    for fit in reversed(evidence.fits):
        started = fit.started
        if started is None or (fit.done is not None and (fit.done.event.raised or fit.done.event.stopped)):
            continue
        planned = started.event.steps_per_epoch or started.event.planned_steps_per_epoch
        steps = fit.steps_by_epoch
        if not planned or planned < 2 or not sum(steps):
            continue
        if any(count < planned for count in steps):
            return fit, planned, steps
    return None


def stop_request(
    evidence: Evidence, wanted: Callable[[str, dict[str, object]], bool]
) -> Said[ev.StopRequested] | None:
    """The request that ended the last fit, if it is of the wanted kind."""
    asked = evidence.last(ev.StopRequested)
    if asked is None or not wanted(asked.event.by, asked.event.settings):
        return None
    fit = evidence.fit
    if fit is not None and fit.done is not None and not fit.done.event.stopped and fit.done.line > asked.line:
        return None
    if (
        fit is not None
        and fit.planned_epochs
        and fit.done is not None
        and fit.done.event.epochs_done >= fit.planned_epochs
    ):
        return None  # it was asked in the last epoch, and changed nothing
    return asked


def going_on(evidence: Evidence, *, first: str = "") -> Remedy | None:
    """For a run of our own trainer, which saves itself: the command that goes on with it. None for any other."""
    opened = evidence.opened
    if opened is None or opened.event.watch != "train":
        return None
    saved = f"go on from step {evidence.saved:,}, which is saved" if evidence.saved is not None else ""
    return Remedy(
        f"{first}{saved or 'begin again: no step was saved'}",
        "your-choice",
        "holdfast train --resume --run-dir RUN",
    )


# -- devices and data ---------------------------------------------------------------------------


def gpu_refused(evidence: Evidence) -> tuple[re.Match[str], Fact] | None:
    """An allocation on a device that was refused, in the words of TensorFlow, XLA, JAX or torch."""
    if full_disk(evidence) is not None:
        return None
    return matched(
        evidence,
        r"CUDA_ERROR_OUT_OF_MEMORY|OOM when allocating tensor.*GPU|GPU_\d+_bfc\) ran out of memory|"
        r"Out of memory (while )?trying to allocate [\d.]+|RESOURCE_EXHAUSTED: .*(GPU|device|Out of memory|allocate)|"
        r"ran out of memory trying to allocate.*GPU|hipErrorOutOfMemory|"
        r"(CUDA|HIP|MPS backend|XPU) out of memory|CUDA error: out of memory|CUBLAS_STATUS_ALLOC_FAILED|"
        r"CUDNN_STATUS_ALLOC_FAILED",
    )


def waits_for_data(evidence: Evidence) -> tuple[float, float, str] | None:
    """Share of the steps' time spent waiting for data, seconds waited in all, source. None where it cannot be told."""
    seen = [said for said in evidence.all(ev.PipelineSeen) if said.event.waiting_share is not None]
    steps = [said for said in seen if said.event.role == "train"]
    fit = evidence.fit
    how = fit.started.event.data_wait if fit is not None and fit.started is not None else ""
    counted = how in ("exact", "") or (how == "sampled" and len(steps) < 2)  # else it lags behind the looks
    if evidence.samples and counted:
        line, last = evidence.samples[-1]
        if last.data_wait_s > 0:
            together = last.data_wait_s + last.compute_s
            return last.data_wait_s / max(1e-9, together), last.data_wait_s, f"vitals.jsonl:{line}"
    if len(steps) >= 2:
        shares = sorted(said.event.waiting_share or 0.0 for said in steps)
        share = shares[len(shares) // 2]
        trained_s = steps[-1].mono - steps[0].mono
        return share, share * trained_s, steps[-1].source
    return None


_PAUSE_S = 3.0


def waits_throughout(evidence: Evidence) -> bool:
    """Whether most steps waited for data, and not only those of a pause or two. True where it cannot be told.

    What is sampled is told a look late, so that the windows are of several seconds.
    """
    trained = [sample for _, sample in evidence.samples if sample.step and sample.phase]
    while len(trained) > 1 and trained[-2].step == trained[-1].step:
        trained.pop()  # what stands after the last step is no pause between steps
    if len(trained) < 3:
        return True
    ages = [  # the first batch of an epoch is waited for apart, and not among the time of steps
        0.0 if sample.phase == "fill" else sample.beat_age_s or 0.0 for sample in trained
    ]
    pauses = [age for age, after in pairwise([*ages, 0.0]) if age >= _PAUSE_S and after < age]
    if len(pauses) < 0.1 * trained[-1].step and sum(pauses) > 0.5 * trained[-1].data_wait_s:
        return False
    long_s = max(6.0, (trained[-1].mono - trained[0].mono) / 10)
    windows: list[tuple[int, float, float]] = []
    first = trained[0]
    for sample in trained[1:]:
        if sample.mono - first.mono >= long_s or sample is trained[-1]:
            waited = sample.data_wait_s - first.data_wait_s
            windows.append((sample.step - first.step, waited, waited + sample.compute_s - first.compute_s))
            first = sample
    steps = sum(count for count, _, _ in windows)
    waiting = sum(count for count, waited, together in windows if waited > 0.5 * together)
    return len(windows) < 3 or steps == 0 or waiting >= 0.4 * steps


def file_named(
    text: str,
    endings: str = r"jpe?g|png|bmp|gif|webp|tiff?|tfrecords?\S*|records?|h5|keras|npy|npz|xml|json|txt|csv",
) -> str:
    """The last path in the text that ends like a data file, or ""."""
    found = re.findall(rf"""['"(\s=]?((?:[\w.~$@+:-]*/)?[\w.@+ -]*\.(?:{endings}))\b""", text)
    return str(found[-1]).strip() if found else ""


def is_there(evidence: Evidence, file: str) -> bool | None:
    """Whether a file that an exception named was there when it was raised; None where nobody looked."""
    looked = [said.event for said in evidence.all(ev.ExceptionRaised) if said.event.paths_there is not None]
    if not looked:
        return None
    return any(os.path.basename(file) == os.path.basename(path) for path in looked[-1].paths_there or ())


# -- numbers ------------------------------------------------------------------------------------

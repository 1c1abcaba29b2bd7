"""Events of a training run as text: one line each, for the terminal and the log."""

from __future__ import annotations

from holdfast.journal import events as ev
from holdfast.journal.events import Event
from holdfast.memory import measured_peak
from holdfast.train.checkpoint import resume
from holdfast.units import size


def event_line(event: Event) -> str:
    """One line for events that are shown; empty for the rest."""
    match event:
        case (
            ev.Note(text=text)
            | ev.MemoryPredicted(text=text)
            | ev.BestCheckpointMissing(text=text)
            | ev.SaveAbandoned(text=text)
        ):
            return text
        case ev.Restored(path=path, iterations=iterations):
            return f"resumes from step {iterations} ({path})"
        case ev.FitStarted(planned_steps_per_epoch=steps, iterations=done) if (
            steps and done and done >= steps
        ):
            more = f"--resume --set train.steps={2 * max(steps, done)}"
            return f"all {steps} steps are done already; {more} trains more"
        case ev.FitStarted():
            return "compiling the first step; later steps are faster"
        case ev.SaveFailed(path=path, error=error, free_bytes=free):
            room = f", {size(free)} free" if free is not None else ""
            return f"not saved: {path}: {error}{room}"
        case ev.StopRequested(by="early-stopping", settings=known):
            return (
                f"early stopping: {known.get('monitor')} has not improved in {known.get('waited')} validations; "
                f"the best was {known.get('best'):.3f} at step {known.get('best_step')}"
            )
        case ev.StopRequested(by=by):
            return f"stopping: {by}"
        case ev.NonFiniteSeen(name=name, step=step, value=value):
            return f"step {step}: {name} is {value}; the step was not applied"
        case ev.RolledBack(step=step, rollbacks=times):
            return f"rolled back to step {step}, with half the learning rate (rollback {times})"
        case ev.WeightsHashed(sha256=digest):
            return f"weights {digest}"
    return _data_line(event) or _memory_line(event) or _checkpoint_line(event)


def _data_line(event: Event) -> str:
    match event:
        case ev.BadImageSkipped():
            return (
                f"an image cannot be decoded and is replaced by another: {event.image}: {event.why} "
                f"({event.skipped} of at most {event.allowed}, data.skip_bad)"
            )
        case ev.BoxLeftOut(file=file, why=why):
            return f"a box is left out: {file}: {why}"
        case ev.SettingDoubted(setting=setting, value=value, text=text, change=change):
            return f"warning: {setting} = {value}: {text}; change: {change}"
        case ev.ClassesUnlearned(boxes=boxes):
            return f"warning: classes with boxes for validation and none for training: {', '.join(boxes)}"
        case ev.AnchorsCompared(boxes=boxes, uncovered=uncovered, input=side) if uncovered > boxes / 2:
            return (
                f"warning: {uncovered / boxes:.0%} of the boxes overlap no anchor by half at {side} px; "
                "`holdfast check RECIPE` says what helps"
            )
        case ev.ImagesPacked(images=images, from_epoch=epoch):
            return f"small copies of {images} large images are ready; they are read from epoch {epoch + 1} on"
        case ev.RecipeChanged(changes=changes):
            return resume.describe_changes({key: (before, now) for key, (before, now) in changes.items()})
    return ""


def _memory_line(event: Event) -> str:
    match event:
        case ev.MicroBatchSet():
            return _micro_batch(event)
        case ev.ValidationBatchReduced(batch=batch, was=was):
            return (
                f"out of memory in validation: {batch} images at once instead of {was} from here on; the result is "
                "the same, and validation takes somewhat longer"
            )
        case ev.MemoryMeasured():
            return measured_peak.comparison_text(event)
    return ""


def _micro_batch(event: ev.MicroBatchSet) -> str:
    """The change, its cost, and how far results may differ."""
    now, was, batch = event.micro_batch, event.was, event.batch
    if event.reason == "out-of-memory":
        return (
            f"out of memory at step {event.step}: the step was undone and runs again with micro-batches of {now} "
            f"instead of {was}; the batch stays {batch}, so results differ by float rounding only, and a step takes "
            "somewhat longer"
        )
    if event.reason == "killed-for-memory":
        return (
            f"the attempt before this one ran out of memory; micro-batches of {now} instead of {was}, "
            f"the batch stays {batch}, and no images are cached"
        )
    return f"micro-batches of {now}"


def _checkpoint_line(event: Event) -> str:
    match event:
        case ev.CheckpointRejected(path=path, why=why, instead=instead):
            what = f"the copy {path}" if "://" in path else f"checkpoint {path.rpartition('/')[2]}"
            return f"{what} is corrupt: {why}; {instead}"
        case ev.CheckpointAgreed(step=None):
            return "rank 0 has no checkpoint: all start at the first step"
        case ev.CheckpointAgreed(step=step, sent=True):
            return f"rank 0 sends its checkpoint of step {step} to the others"
        case ev.CheckpointAgreed(step=step):
            return f"resumes from step {step}, the newest that all processes have"
        case ev.CheckpointCopied(url=url, duration_s=took_s):
            return f"{url.rpartition('/')[2]} is copied to {url} ({took_s:.1f} s)"
        case ev.CopyFailed(what=what, url=url, error=error, retries=True):
            return f"{what} could not be copied to {url}: {error}; trying again"
        case ev.CopyFailed(what="tensorboard", url=url, error=error):
            return f"the curves could not be copied to {url}: {error}"
        case ev.CopyFailed(what=what, error=error):
            return f"the model could not be copied to the bucket: {error}; it is on this machine, in {what}"
        case ev.CheckpointFetched(url=url):
            folder, _, name = url.rpartition("/")
            return f"{name} is fetched from {folder}"
        case ev.FetchFailed(url=url, error=error):
            return f"{url} could not be read: {error}; resumes from what is on this machine"
        case ev.ModelWritten(path=path):
            return f"the model is in {path}"
    return ""

"""One attempt of a run in this process: puts everything together, trains, and leaves the folder in order."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras

from holdfast.detectors.inference import compile_detect
from holdfast.errors import FileError, HoldfastError
from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.beats import Phase
from holdfast.journal.folder import RunFolder
from holdfast.memory import choose_micro_batch, measured_peak
from holdfast.memory.choose_micro_batch import MicroBatchPlan
from holdfast.memory.measured_peak import MemoryObserver
from holdfast.pipeline.stream import BadImage
from holdfast.settings.recipe import Recipe
from holdfast.step import out_of_memory
from holdfast.step.step_protocol import adapt_state
from holdfast.train import components, early_stop_policy, loop_state
from holdfast.train.checkpoint import bucket_copy, checkpoint_files, emergency_save, resume
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter, NullCheckpointWriter
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.loop import LoopEffects, TrainingLoop, TrainingPlan
from holdfast.train.loop_state import LoopState
from holdfast.train.observers import memory_usage
from holdfast.train.observers.observer import JournalObserver, Observer, Observers, TrainerHeartbeat
from holdfast.train.observers.progress_display import ProgressDisplay
from holdfast.train.observers.results_csv import ResultsCsv
from holdfast.train.observers.tensorboard import TensorBoard
from holdfast.train.observers.validation_images import ValidationImages
from holdfast.train.process_group import ProcessGroup
from holdfast.train.save_on_signal import SaveOnSignal
from holdfast.train.validation import Validation

COPY_TIMEOUT_S = 600.0  # for the last checkpoint to get to its bucket, when nobody is in a hurry


class TrainingRun:
    def __init__(
        self, folder: RunFolder, recipe: Recipe, *, attempt: int, resume: bool, asked: Any, accept: bool = False,
        peers: ProcessGroup | None = None,
    ) -> None:  # fmt: skip
        """`resume` is what the command line says; a later attempt goes on by itself."""
        self.folder, self.recipe, self.asked, self.peers = folder, recipe, asked, peers
        self._checkpoints = RunFolder(peers.group).checkpoints if peers is not None else folder.checkpoints
        self._told_to_resume, self._resume = resume, resume or attempt > 1
        self._attempt, self._accept = attempt, accept
        self.pulse = TrainerHeartbeat(folder, attempt)
        self._journal = JournalObserver(folder, attempt)
        self._witnesses = Observers([self._journal, PlainNotes()])
        self.steps_done = 0

    def say(self, event: ev.Event) -> None:
        self._witnesses.say(event)

    def run(self, *, grace_s: float) -> str:
        """Trains to an end and returns the reason. Raises what went wrong, after saying it in the journal."""
        try:
            return self._run(grace_s)
        except Exception as error:
            if isinstance(error, HoldfastError):  # its words reach the screen by themselves
                Observers([self._journal]).say(reported(error))
            self.say(exception_event(error))
            self.say(ev.ExitStarted(raised=type(error).__name__, steps=self.steps_done))
            raise

    def _run(self, grace_s: float) -> str:
        self.pulse.beat(Phase.BUILD)
        self.say(ev.ProcessJoined(python=sys.version.split()[0], executable=sys.executable, argv=sys.argv))
        self.say(framework_event())
        if self.recipe.train.backend == "jax":
            components.hide_gpus_from_tensorflow()
        if self.recipe.train.deterministic:
            components.make_deterministic(self.recipe.train.seed)
        killed = self._killed_for_memory()
        if self._resume and self._first:
            checkpoint_files.recover(self._checkpoints)
        data = components.build_data(
            self.recipe,
            frugal=self._was_short(),
            share=batch_share(self.peers),
            on_bad=self._bad_picture,
            on_packed=self._packed,
            packed_from=resume.pack_start_epoch(self._checkpoints) if self._resume else 0,
        )
        plan = components.build_plan(self.recipe, self.folder, data.train.images)
        model, whence = components.build_detector(self.recipe, data.train.columns)
        found = self._checkpoint(data, model)
        self._tell_beginning(data, model, whence if found is None else "")
        net = components.build_network(model, self.recipe)
        memory = self._memory_planned(data, model)
        micro_batch = killed if killed and not self._chosen_anew(found) else None
        micro_batch = micro_batch or self._micro_batch_before(found) or memory.micro_batch
        step = components.build_step(net, self.recipe, micro_batch, self.peers)
        self.say(ev.MicroBatchSet(micro_batch=step.micro_batch, batch=self.recipe.train.batch))
        now = LoopState()
        if found is not None:
            now = self._restore(step, found)
        copier = self._copier()
        shown = [*self._shown(plan, now), *([copier] if copier else [])] if self._first else []
        self._witnesses = Observers(
            [self._journal, *shown, MemoryObserver(memory, self.recipe.train.backend, self.say)]
        )
        saver = self._saver()
        rescue = SaveOnSignal()
        loop = TrainingLoop(plan, step, now, self._world(data, model, saver, rescue))
        if self.peers is None:  # several processes end together, or a collective is left hanging
            rescue.start(lambda name, left_s: self._rescued(loop, saver, name, left_s), grace_s)
        reason = ""
        try:
            reason = loop.run()
        finally:
            rescue.end()
            data.train.close()
            self.steps_done = loop.now.step
            self.pulse.beat(Phase.SAVE)
            hurried = bool(self.asked())  # by a signal, after which there are some seconds and no more
            unsaved = None if saver.close(grace_s, patient=not hurried) else self._unsaved(loop, saver)
            if copier is not None and (unsaved is not None or not reason):
                self._copied(copier, grace_s)
        if unsaved is not None:
            raise unsaved
        self.pulse.beat(Phase.AFTER)
        if self._first and reason in ("finished", "early-stopping"):
            with components.serving_weights(loop.step):
                path, without = components.write_model(model, self.folder, loop.now.patience.best_step)
            if without:
                self.say(ev.BestCheckpointMissing(text=without))
            self.say(ev.ModelWritten(path=str(path)))
            if copier is not None:
                self._put_model(copier, path)
        if copier is not None:
            self._copied(copier, grace_s)
        return reason

    def _put_model(self, copier: bucket_copy.BucketCopier, path: Path) -> None:
        try:
            copier.put_model(path)
        except (HoldfastError, OSError) as error:  # a bucket that gives errors stops nothing
            self.say(ev.CopyFailed(what=str(path), error=str(error)))

    def _copied(self, copier: bucket_copy.BucketCopier, grace_s: float) -> None:
        """Waits for the last copy; once somebody asks for an end, no longer than the grace."""
        if not copier.close(COPY_TIMEOUT_S, hurried=lambda: bool(self.asked()), grace_s=grace_s):
            self.say(ev.Note(text="the newest checkpoint is on this machine, and not yet in the bucket"))

    def _unsaved(self, loop: TrainingLoop, saver: AsyncCheckpointWriter | NullCheckpointWriter) -> FileError:
        """What the run's folder does not take is put elsewhere, and the answer says where, beside any other error."""
        kept: list[Path] = []
        with contextlib.suppress(Exception):  # the state may be what the other error is about
            wanted = [loop.snapshot(), *([saver.given_up] if saver.given_up is not None else [])]
            distinct = {one.step: one for one in wanted} if self._first else {}
            places = [emergency_save.save_emergency_copy(one, self.folder.path) for one in distinct.values()]
            kept = [place for place in places if place is not None]
        answer = emergency_save.unsaved_error(self._checkpoints, loop.now.step, kept, saver.failure)
        self.say(ev.SaveAbandoned(step=loop.now.step, text=". ".join([answer.what, *answer.found])))
        return answer

    def _rescued(
        self,
        loop: TrainingLoop,
        saver: AsyncCheckpointWriter | NullCheckpointWriter,
        name: str,
        left_s: float,
    ) -> int:
        text = f"{name} came while data was awaited; step {loop.now.step} is saved from beside the waiting thread"
        self.say(ev.Note(text=text))
        loop.end_now(name)
        if not saver.close(left_s * 0.6):
            self._unsaved(loop, saver)
        code = 128 + int(signal.Signals[name])
        self.say(ev.ExitStarted(exit_code=code, steps=loop.now.step))
        return code

    @property
    def _first(self) -> bool:
        """Whether this process writes what a run has once."""
        return self.peers is None or self.peers.first

    def _shown(self, plan: TrainingPlan, now: LoopState) -> list[Observer]:
        results = ResultsCsv(
            self.folder.path / "results.csv",
            resumed_at=now.step,
            parts=LOSS_PARTS[self.recipe.model.detector],
        )
        board = TensorBoard(self.folder.path / "tensorboard", self.recipe.model.detector, resumed_at=now.step)
        memory = functools.partial(memory_usage.current_usage, self.recipe.train.backend)
        screen = ProgressDisplay(
            plan.steps, plan.batch, memory=memory, wait_share=self.pulse.wait_share, monitor=plan.monitor,
            best=now.patience.best,
        )  # fmt: skip
        return [results, board, screen]

    def _packed(self, copies_made: int, epoch: int) -> None:
        self.say(ev.ImagesPacked(images=copies_made, from_epoch=epoch))

    def _copier(self) -> bucket_copy.BucketCopier | None:
        """To the bucket that the recipe or the cloud names, from the process that writes checkpoints."""
        to = bucket_copy.bucket_folders(self.recipe.hardware.copy_to)
        if to is None or not self._first:
            return None
        return bucket_copy.BucketCopier(to, self.folder.path, self.say, all_ours=self._resume)

    def _bring_from_bucket(self) -> None:
        """What lies there is this run's when somebody said --resume, or when this run put it there."""
        to = bucket_copy.bucket_folders(self.recipe.hardware.copy_to)
        if to is not None and self._first and (self._told_to_resume or self._copied_before()):
            bucket_copy.fetch_newest(to.checkpoints, self._checkpoints, self.say)

    def _refuse_others_copies(self) -> None:
        """A new run: what the bucket holds already is another's, and is neither gone on from nor removed unasked."""
        to = bucket_copy.bucket_folders(self.recipe.hardware.copy_to)
        if to is not None and self._first:
            bucket_copy.refuse_foreign_checkpoints(to.checkpoints)

    def _copied_before(self) -> bool:
        return any(isinstance(one.event, ev.CheckpointCopied) for one in reader.read(self.folder.journal))

    def _saver(self) -> AsyncCheckpointWriter | NullCheckpointWriter:
        if not self._first:
            return NullCheckpointWriter()
        return AsyncCheckpointWriter(self._checkpoints, keep=self.recipe.train.keep_checkpoints, say=self.say)

    def _world(
        self,
        data: components.TrainingData,
        model: Any,
        saver: AsyncCheckpointWriter | NullCheckpointWriter,
        rescue: SaveOnSignal,
    ) -> LoopEffects:
        pulse = self.pulse
        beat = lambda number: pulse.beat(Phase.VALIDATION, test_batches=number)  # noqa: E731
        album = ValidationImages(self.folder, data.train.columns, data.validation.columns, lambda: pulse.step)
        peers = self.peers
        validation = Validation(
            data.validation, compile_detect(model), beat, album.validated if self._first else None,
            gathered=peers.gathered if peers is not None else None,
            say=self.say,
        )  # fmt: skip
        names = data.train.columns.name
        jax = self.recipe.train.backend == "jax"
        return LoopEffects(
            batches=data.train.numpy_batches if jax else data.train.batches,
            picture_names=lambda batch: [names(int(number)) for number in batch["image"]],
            validate=validation if peers is None else lambda _: validation(peers.stop_now),
            serving=components.serving_weights,
            newest=lambda: self._newest_after(saver),
            facts=lambda: {
                "recipe": resume.flatten(self.recipe), "data": data.train.state(0),
                "spec": model.spec.as_json(), "backend": self.recipe.train.backend,
            },
            saver=saver, witnesses=self._witnesses, pulse=pulse,
            stop_asked=self.asked if peers is None else peers.stop_asked,
            clock=time.monotonic if peers is None else peers.clock, waiting=rescue.waiting,
        )  # fmt: skip

    def _newest_after(self, saver: AsyncCheckpointWriter | NullCheckpointWriter) -> Snapshot | None:
        """To go back to; as the recipe of now needs it, since it may be from before a change."""
        saver.flush(60.0)
        found = self._newest()
        if found is None:
            return None
        groups = adapt_state(found.groups, found.meta["recipe"], resume.flatten(self.recipe), unapplied=0)
        return replace(found, groups=groups)

    def _newest(self) -> Snapshot | None:
        if self.peers is None:
            return resume.newest_checkpoint(self._checkpoints, self._witnesses)
        self.peers.exchange([0])  # rank 0 has written what is pending, before anybody looks
        return self.peers.newest(self._checkpoints, self._witnesses)

    def _checkpoint(self, data: components.TrainingData, model: Any) -> Snapshot | None:
        if not self._resume:
            self._refuse_others_copies()
            return None
        self._bring_from_bucket()
        found = self._newest()
        if found is None:
            self.say(ev.Note(text="nothing was saved yet: begins at the first step"))
            return None
        changed = resume.changed_settings(found.meta["recipe"], resume.flatten(self.recipe))
        where = str(self.folder.recipe)
        resume.check_changes(changed, where=where, accepted=self._accept)
        resume.check_images(found.meta["data"], data.train.state(0), where=where, accepted=self._accept)
        spec = json.loads(json.dumps(model.spec.as_json()))
        resume.check_spec(found.meta["spec"], spec, where=where, accepted=self._accept)
        moved = resume.resize_note(found.meta["data"], data.train.state(0))
        if moved:
            self.say(ev.Note(text=moved))
        if changed:
            self.say(ev.RecipeChanged(changes={key: list(pair) for key, pair in changed.items()}))
        return found

    def _killed_for_memory(self) -> int | None:
        """The smaller micro-batch to go on with, when the kernel ended the attempt before this one for its memory."""
        entries = reader.read(self.folder.journal) if self._attempt > 1 else []
        killed = out_of_memory.micro_batch_after_kill(entries, self._attempt, self.recipe.train.batch)
        if killed is None:
            return None
        before, now = killed
        batch = self.recipe.train.batch
        self.say(ev.MicroBatchSet(micro_batch=now, was=before, batch=batch, reason="killed-for-memory"))
        return now

    def _was_short(self) -> bool:
        """Whether memory ended an attempt of this run: from there on no pictures are kept in it."""
        short = self._attempt > 1 and out_of_memory.ran_out_of_memory(list(reader.read(self.folder.journal)))
        if short:
            text = "memory ended an attempt of this run: no pictures are kept in it, and one thread decodes"
            self.say(ev.Note(text=text))
        return short

    def _chosen_anew(self, found: Snapshot | None) -> bool:
        """Somebody has set a size since the checkpoint, and it is not the one with which memory ran out."""
        chosen = self.recipe.train.micro_batch
        if found is None or not isinstance(chosen, int):
            return False
        used = out_of_memory.last_micro_batch(
            [one for one in reader.read(self.folder.journal) if one.attempt == self._attempt - 1]
        )
        return chosen not in (used, found.meta["recipe"].get("train.micro_batch"))

    def _micro_batch_before(self, found: Snapshot | None) -> int | None:
        """Of the checkpoint, or of an earlier attempt: what is free may be other now, and the bits hang on it.

        None where there was none, where the recipe now gives another, or where the batch was changed since.
        """
        chosen = self.recipe.train.micro_batch
        if found is not None:
            before: int | None = found.meta["micro_batch"]
            if isinstance(chosen, int) and chosen != found.meta["recipe"].get("train.micro_batch"):
                return None
        else:
            before = (
                out_of_memory.last_micro_batch(list(reader.read(self.folder.journal)))
                if self._attempt > 1
                else None
            )
        return before if before and self.recipe.train.batch % before == 0 else None

    def _bad_picture(self, bad: BadImage) -> None:
        """A picture that cannot be decoded, met while training, and more such are allowed."""
        self.say(
            ev.BadImageSkipped(
                image=bad.name, why=bad.why, step=bad.step, skipped=bad.skipped, allowed=bad.allowed
            )
        )

    def _memory_planned(self, data: components.TrainingData, model: Any) -> MicroBatchPlan:
        """What the step will take of a card, if there is one here, and the micro-batch that fits it."""
        room = measured_peak.device_limit(self.recipe.train.backend) if self.peers is None else None
        planned = choose_micro_batch.plan_for_training(
            self.recipe, classes=len(model.spec.classes), boxes=data.train.max_boxes, room=room,
            sent_pixels=data.train.feed.sent_pixels or 0,
        )  # fmt: skip
        if planned.said:
            self.say(ev.MemoryPredicted(predicted_bytes=planned.predicted_bytes, text=planned.said))
        return planned

    def _restore(self, step: Any, found: Snapshot) -> LoopState:
        now = loop_state.from_json(found.meta["progress"])
        if other := resume.changed_best_criteria(found.meta["recipe"], resume.flatten(self.recipe)):
            now.patience = early_stop_policy.EarlyStoppingState()
            self.say(ev.Note(text=f"{other}: what is the best is counted anew from here"))
        unapplied = min(now.skipped, components.optimizer_config(self.recipe).tolerated)
        step.load(
            adapt_state(found.groups, found.meta["recipe"], resume.flatten(self.recipe), unapplied=unapplied)
        )
        if self._first and now.patience.best_step is not None:
            # A kill may have come between a checkpoint and the note that it is the best.
            checkpoint_files.restore_pointer(self._checkpoints, checkpoint_files.BEST, now.patience.best_step)
        path = str(self._checkpoints / found.name)
        self.say(ev.Restored(path=path, by="trainer", iterations=found.step, optimizer_restored=True))
        return now

    def _tell_beginning(self, data: components.TrainingData, model: Any, whence: str) -> None:
        for text in filter(None, (data.how, whence)):
            self.say(ev.Note(text=text))
        for stream, role in ((data.train, "train"), (data.validation, "validation")):
            self.say(ev.DatasetSeen(role=role, type="tf.data", python_fed=False, cardinality=stream.steps or -1,
                                    file_count=stream.images))  # fmt: skip
            for one in stream.columns.left_out[:20]:
                self.say(ev.BoxLeftOut(file=str(one.file), why=one.detail))
        train = self.recipe.train
        self.say(
            ev.ModelSeen(
                name=self.recipe.model.detector, parameters=_count(model.variables),
                trainable_parameters=_count(model.trainable_variables),
                trainable_variables=len(model.trainable_variables),
                input_shape=[train.batch, self.recipe.model.input, self.recipe.model.input, 3],
                precision=train.precision, optimizer=train.optimizer, learning_rate=train.learning_rate,
                learning_rate_schedule=train.schedule, run_eagerly=False,
            )
        )  # fmt: skip


def batch_share(peers: ProcessGroup | None) -> tuple[int, int]:
    """Which part of every batch is this process's, of how many."""
    return (peers.rank, peers.count) if peers is not None else (0, 1)


#: The parts of each detector's loss, which are columns of results.csv.
LOSS_PARTS = {
    "ssd": ("classification", "localization"),
    "retinanet": ("classification", "localization"),
    "faster-rcnn": ("rpn_objectness", "rpn_localization", "classification", "localization"),
}


class PlainNotes(Observer):
    """Before there is a plan to show progress against: notes as plain lines."""

    def say(self, event: ev.Event) -> None:
        from holdfast.train.event_text import words

        text = words(event)
        if text:
            print(text, flush=True)


def reported(error: HoldfastError) -> ev.ErrorReported:
    return ev.ErrorReported(
        slug=error.slug, what=error.what, where=error.where, found=list(error.found), change=list(error.advised),
        more=error.more,
    )  # fmt: skip


def framework_event() -> ev.FrameworkSeen:
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        devices, version = [str(device) for device in jax.devices()], jax.__version__
        kinds = [str(device.platform) for device in jax.devices()]
    else:
        import tensorflow as tf

        devices, version = [device.name for device in tf.config.list_physical_devices()], tf.__version__
        kinds = [device.device_type.lower() for device in tf.config.list_physical_devices()]
    return ev.FrameworkSeen(
        name="keras", version=keras.__version__, backend=backend, devices=devices, device_kinds=kinds,
        versions={"keras": keras.__version__, backend: version},
    )  # fmt: skip


def exception_event(error: Exception) -> ev.ExceptionRaised:
    import traceback

    frames = [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)]
    message, found = (error.what, error.found) if isinstance(error, HoldfastError) else (str(error), ())
    return ev.ExceptionRaised(
        type=type(error).__name__, message=message[:2000], left="script", frames=frames[-30:],
        errno=getattr(error, "errno", None), chain=[str(one)[:500] for one in found],
    )  # fmt: skip


def _count(variables: Sequence[Any]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)

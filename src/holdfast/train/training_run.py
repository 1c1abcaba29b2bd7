"""One attempt of a run in this process: builds everything, trains, and leaves the folder in order."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from holdfast.detectors.inference import compile_detect
from holdfast.detectors.spec import DetectorSpec, from_json
from holdfast.errors import FileError, HoldfastError
from holdfast.evaluate.box_columns import GroundTruth, Predictions
from holdfast.evaluate.coco_metrics import CocoScore
from holdfast.journal import events as ev
from holdfast.journal.beats import Phase
from holdfast.journal.folder import RunFolder
from holdfast.memory import choose_micro_batch, measured_peak
from holdfast.memory.background_plan import BackgroundPlan
from holdfast.memory.choose_micro_batch import MicroBatchPlan
from holdfast.memory.measured_peak import MemoryObserver
from holdfast.pipeline.stream import BadImage
from holdfast.settings.recipe import Recipe
from holdfast.step.step_protocol import TrainStep
from holdfast.train import components, training_events, weight_movement
from holdfast.train.checkpoint import checkpoint_files, resume
from holdfast.train.checkpoint.async_writer import AsyncCheckpointWriter, NullCheckpointWriter
from holdfast.train.checkpoint.bucket_copy import BucketCopier, RunBucket, bucket_folders, copied_before
from holdfast.train.checkpoint.checkpoint_files import Snapshot
from holdfast.train.components import TrainingData
from holdfast.train.final_save import CheckpointWriter, FinalSave
from holdfast.train.learning import start_checks, validation_answers
from holdfast.train.loop import LoopEffects, TrainingLoop, TrainingPlan
from holdfast.train.loop_state import LoopState
from holdfast.train.observers.event_lines import EventLines
from holdfast.train.observers.observer import JournalObserver, Observers, TrainerHeartbeat
from holdfast.train.observers.validation_images import ValidationImages
from holdfast.train.oom_history import OomHistory, read_oom_history
from holdfast.train.process_group import ProcessGroup
from holdfast.train.save_on_signal import SaveOnSignal
from holdfast.train.validation import Validation

FLUSH_TIMEOUT_S = 60.0  # for the pending checkpoint, before the loop rolls back to the newest


class TrainingRun:
    def __init__(
        self, folder: RunFolder, recipe: Recipe, *, attempt: int, resume: bool, stop_signal: Callable[[], str],
        accept_changes: bool = False, group: ProcessGroup | None = None,
    ) -> None:  # fmt: skip
        """`resume` is the option of the command line; a later attempt resumes without it."""
        self.folder, self.recipe, self.group = folder, recipe, group
        self.steps_done = 0
        self._attempt, self._stop_signal, self._accept_changes = attempt, stop_signal, accept_changes
        self._resume_requested, self._resumes = resume, resume or attempt > 1
        self._checkpoints = RunFolder(group.folder).checkpoints if group is not None else folder.checkpoints
        self._is_first = group is None or group.is_first  # writes what a run has once
        self._heartbeat = TrainerHeartbeat(folder, attempt)
        self._journal = JournalObserver(folder, attempt)
        self._observers = Observers([self._journal, EventLines()])

    def notify(self, event: ev.Event) -> None:
        self._observers.notify(event)

    def run(self, *, grace_s: float) -> str:
        """Trains to the end and returns the reason for it. Raises what went wrong, after writing it to the journal."""
        try:
            return self._run(grace_s)
        except Exception as error:
            if isinstance(error, HoldfastError):  # printed by the caller
                Observers([self._journal]).notify(training_events.error_event(error))
            self.notify(training_events.exception_event(error))
            self.notify(ev.ExitStarted(raised=type(error).__name__, steps=self.steps_done))
            raise

    def _run(self, grace_s: float) -> str:
        self._report_process()
        self._configure_backend()
        history = self._read_oom_history()
        bucket = self._bucket()
        checkpoint = self._find_checkpoint(bucket)
        saved = self._saved_spec(checkpoint)
        data = self._build_data(history, saved)
        plan = components.build_plan(self.recipe, self.folder, data.train.images)
        model, weights_note = components.build_detector(self.recipe, data.train.columns, saved)
        self._check_checkpoint(checkpoint, data, model)
        self._report_start(data, model, weights_note if checkpoint is None else "")
        network = components.build_network(model, self.recipe)
        memory = self._plan_memory(data, model)
        micro_batch = history.micro_batch(checkpoint) or self._micro_batch(memory)
        step = components.build_step(network, self.recipe, micro_batch, self.group)
        self.notify(ev.MicroBatchSet(micro_batch=step.micro_batch, batch=self.recipe.train.batch))
        state = LoopState() if checkpoint is None else self._restore(step, checkpoint)
        with bucket.uploading(
            stop_requested=lambda: bool(self._stop_signal()), grace_s=grace_s,
            resumed_from="" if checkpoint is None else checkpoint.name,
        ) as copier:  # fmt: skip
            self._observers = self._build_observers(plan, state, memory, copier)
            loop, reason = self._train(plan, step, state, data, model, grace_s)
            if self._is_first and reason in ("finished", "early-stopping"):
                self._write_model(loop, model, bucket)
        return reason

    # -- before the first step -----------------------------------------------------------------------

    def _report_process(self) -> None:
        self._heartbeat.beat(Phase.BUILD)
        version = sys.version.split()[0]
        self.notify(ev.ProcessJoined(python=version, executable=sys.executable, argv=sys.argv))
        self.notify(training_events.framework_event())

    def _configure_backend(self) -> None:
        if self.recipe.train.deterministic:
            components.make_deterministic(self.recipe.train.seed)

    def _read_oom_history(self) -> OomHistory:
        history = read_oom_history(self.folder, self._attempt, self.recipe)
        if history.after_kill is not None:
            before, after = history.after_kill
            batch = self.recipe.train.batch
            self.notify(
                ev.MicroBatchSet(micro_batch=after, was=before, batch=batch, reason="killed-for-memory")
            )
        if history.ran_out:
            text = "an attempt of this run ran out of memory: no images are cached, and one thread decodes"
            self.notify(ev.Note(text=text))
        return history

    def _build_data(self, history: OomHistory, saved: DetectorSpec | None) -> TrainingData:
        return components.build_data(
            self.recipe,
            low_memory=history.ran_out,
            resizing=saved.resizing if saved is not None else None,
            process_share=batch_share(self.group),
            on_bad_image=self._report_bad_image,
            on_pack_ready=self._report_packed,
            packed_from=resume.pack_start_epoch(self._checkpoints) if self._resumes else 0,
        )

    def _report_bad_image(self, bad: BadImage) -> None:
        self.notify(
            ev.BadImageSkipped(
                image=bad.name, why=bad.why, step=bad.step, skipped=bad.skipped, allowed=bad.allowed
            )
        )

    def _report_packed(self, images: int, epoch: int) -> None:
        self.notify(ev.ImagesPacked(images=images, from_epoch=epoch))

    def _report_start(self, data: TrainingData, model: Any, weights_note: str) -> None:
        for text in filter(None, (data.notes, weights_note)):
            self.notify(ev.Note(text=text))
        for event in training_events.data_events(data):
            self.notify(event)
        self.notify(training_events.model_event(model, self.recipe))
        if self._is_first:
            for event in start_checks.start_events(
                self.recipe, model.spec, data.train.columns, data.validation.columns
            ):
                self.notify(event)

    def _plan_memory(self, data: TrainingData, model: Any) -> BackgroundPlan:
        """What the step will take of the GPU, if there is one, and the micro-batch that fits."""
        limit = measured_peak.device_limit(self.recipe.train.backend) if self.group is None else None
        make = functools.partial(
            choose_micro_batch.plan_for_training,
            self.recipe, classes=len(model.spec.classes), max_boxes=data.train.max_boxes, limit=limit,
            sent_pixels=data.train.feed.sent_pixels or 0, spec=model.spec,
        )  # fmt: skip
        return BackgroundPlan(lambda certain: make(on_certain=certain), self._report_plan)

    def _report_plan(self, planned: MicroBatchPlan) -> None:
        if planned.message:
            self.notify(ev.MemoryPredicted(predicted_bytes=planned.predicted_bytes, text=planned.message))

    def _micro_batch(self, memory: BackgroundPlan) -> int | None:
        """None where the recipe says a number: training need not wait for the prediction."""
        return memory.micro_batch() if self.recipe.train.micro_batch == "auto" else None

    # -- checkpoints ---------------------------------------------------------------------------------

    def _bucket(self) -> RunBucket:
        """The process that writes checkpoints is the one that copies them."""
        folders = bucket_folders(self.recipe.hardware.copy_to) if self._is_first else None
        return RunBucket(folders, self.folder.path, self._checkpoints, self.notify, resumes=self._resumes)

    def _find_checkpoint(self, bucket: RunBucket) -> Snapshot | None:
        """The checkpoint to resume from."""
        if not self._resumes:
            bucket.require_empty()
            return None
        if self._is_first:
            checkpoint_files.recover(self._checkpoints)
        if self._resume_requested or copied_before(self.folder.journal):
            bucket.fetch()
        found = self._newest_checkpoint()
        if found is None:
            self.notify(ev.Note(text="no checkpoint yet: starts at the first step"))
        else:
            resume.check_parts(found, self._checkpoints)
        return found

    def _saved_spec(self, found: Snapshot | None) -> DetectorSpec | None:
        """What the checkpoint says of the network, where the initial weights are not there to say it."""
        if found is None or resume.needs_initial_weights(self.recipe):
            return None
        return from_json(found.meta["spec"])

    def _check_checkpoint(self, found: Snapshot | None, data: TrainingData, model: Any) -> None:
        """Against the recipe and the data."""
        if found is None:
            return
        spec = json.loads(json.dumps(model.spec.as_json()))
        events = resume.check_checkpoint(
            found, self.recipe, data.train.state(0), spec, where=str(self.folder.recipe),
            accepted=self._accept_changes,
        )  # fmt: skip
        for event in events:
            self.notify(event)

    def _newest_checkpoint(self) -> Snapshot | None:
        if self.group is None:
            return resume.newest_checkpoint(self._checkpoints, self.notify)
        self.group.exchange([0])  # rank 0 has written what is pending, before anybody looks
        return self.group.newest_checkpoint(self._checkpoints, self.notify)

    def _restore(self, step: TrainStep, found: Snapshot) -> LoopState:
        tolerated = components.optimizer_config(self.recipe).tolerated
        state, note = resume.restore(step, found, self.recipe, tolerated=tolerated, folder=self._checkpoints)
        if note:
            self.notify(ev.Note(text=note))
        if self._is_first and state.patience.best_step is not None:
            # A kill may have come between a checkpoint and the pointer to the best.
            checkpoint_files.restore_pointer(
                self._checkpoints, checkpoint_files.BEST, state.patience.best_step
            )
        path = str(self._checkpoints / found.name)
        self.notify(ev.Restored(path=path, by="trainer", iterations=found.step, optimizer_restored=True))
        return state

    def _checkpoint_writer(self) -> CheckpointWriter:
        if not self._is_first:
            return NullCheckpointWriter()
        return AsyncCheckpointWriter(
            self._checkpoints, keep=self.recipe.train.keep_checkpoints, notify=self.notify
        )

    # -- training ------------------------------------------------------------------------------------

    def _build_observers(
        self, plan: TrainingPlan, state: LoopState, memory: BackgroundPlan, copier: BucketCopier | None
    ) -> Observers:
        shown = (
            components.build_displays(plan, state, self.recipe, self.folder, self._heartbeat)
            if self._is_first
            else []
        )
        measured = MemoryObserver(lambda: memory.plan, self.recipe.train.backend, self.notify)
        return Observers([self._journal, *shown, *([copier] if copier else []), measured])

    def _train(
        self, plan: TrainingPlan, step: TrainStep, state: LoopState, data: TrainingData, model: Any, grace_s: float
    ) -> tuple[TrainingLoop, str]:  # fmt: skip
        """Runs the loop, and then writes what is pending, however it ended."""
        writer, on_signal = self._checkpoint_writer(), SaveOnSignal()
        loop = TrainingLoop(plan, step, state, self._loop_effects(data, model, step, writer, on_signal))
        final = FinalSave(loop, writer, self.folder, self._checkpoints, self.notify, is_writer=self._is_first)
        if self.group is None:  # the processes of a group end together, or a collective hangs
            on_signal.start(final.save_from_signal_thread, grace_s)
        unsaved: FileError | None = None
        trained = model.trainable_variables
        before = weight_movement.samples(trained) if self._is_first else []
        try:
            reason = loop.run()
        finally:
            on_signal.end()
            data.train.close()
            self.steps_done = loop.state.step
            self._heartbeat.beat(Phase.SAVE)
            # After a signal there are a few seconds and no more.
            unsaved = final.close_writer(grace_s, patient=not self._stop_signal())
        if unsaved is not None:
            raise unsaved
        self._heartbeat.beat(Phase.AFTER)
        if before:
            self.notify(weight_movement.moved(before, trained, step=loop.state.step))
        return loop, reason

    def _loop_effects(
        self,
        data: TrainingData,
        model: Any,
        step: TrainStep,
        writer: CheckpointWriter,
        on_signal: SaveOnSignal,
    ) -> LoopEffects:
        group, names = self.group, data.train.columns.name
        validation = self._validation(data, model)
        return LoopEffects(
            batches=self._batches(data, step),
            image_names=lambda batch: [names(int(number)) for number in batch["image"]],
            validate=validation if group is None else lambda _: validation(group.agree_to_stop),
            serving_weights=components.serving_weights,
            newest_checkpoint=lambda: self._newest_after_flush(writer),
            run_facts=lambda: {
                "recipe": resume.flatten(self.recipe), "data": data.train.state(0),
                "spec": model.spec.as_json(), "backend": self.recipe.train.backend,
            },
            writer=writer, observers=self._observers, heartbeat=self._heartbeat,
            stop_signal=self._stop_signal if group is None else group.stop_signal,
            clock=time.monotonic if group is None else group.clock, while_waiting=on_signal.waiting,
        )  # fmt: skip

    def _batches(self, data: TrainingData, step: TrainStep) -> Callable[[int], Iterator[Mapping[str, Any]]]:
        """On one GPU with JAX, batches are copied there while the step before still runs."""
        place = getattr(step, "place", None) if components.on_gpu(self.recipe.train.backend) else None
        return functools.partial(data.train.batches, place=place)

    def _validation(self, data: TrainingData, model: Any) -> Validation:
        heartbeat = self._heartbeat
        images = ValidationImages(
            self.folder, data.train.columns, data.validation.columns, lambda: heartbeat.step
        )
        return Validation(
            data.validation, compile_detect(model),
            batch_done=lambda number: heartbeat.beat(Phase.VALIDATION, test_batches=number),
            scored=functools.partial(self._validated, images) if self._is_first else None,
            gather=self.group.gather if self.group is not None else None,
            notify=self.notify,
        )  # fmt: skip

    def _validated(
        self, images: ValidationImages, truth: GroundTruth, found: Predictions, result: CocoScore
    ) -> None:
        images.validated(truth, found, result)
        answers = validation_answers.validation_answers(truth, found, step=self._heartbeat.step)
        if answers is not None:
            self.notify(answers)

    def _newest_after_flush(self, writer: CheckpointWriter) -> Snapshot | None:
        """To roll back to."""
        writer.flush(FLUSH_TIMEOUT_S)
        found = self._newest_checkpoint()
        return None if found is None else resume.adapted(found, self.recipe, unapplied=0)

    def _write_model(self, loop: TrainingLoop, model: Any, bucket: RunBucket) -> None:
        with components.serving_weights(loop.step):
            path, problem = components.write_model(model, self.folder, loop.state.patience.best_step)
        if problem:
            self.notify(ev.BestCheckpointMissing(text=problem))
        self.notify(ev.ModelWritten(path=str(path)))
        bucket.upload_model(path)


def batch_share(group: ProcessGroup | None) -> tuple[int, int]:
    """Which part of every batch is this process's, of how many."""
    return (group.rank, group.count) if group is not None else (0, 1)

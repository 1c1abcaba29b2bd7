"""One attempt of a run in this process: puts everything together, trains, and leaves the folder in order."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import keras

from holdfast.detectors.inference import compiled
from holdfast.errors import DiskFull, HoldfastError
from holdfast.journal import events as ev
from holdfast.journal import reader
from holdfast.journal.beats import Phase
from holdfast.journal.folder import RunFolder
from holdfast.settings.recipe import Recipe
from holdfast.train import assemble, progress, relief, resume
from holdfast.train.album import Album
from holdfast.train.checkpoints import Snapshot
from holdfast.train.loop import Loop, World
from holdfast.train.progress import Progress
from holdfast.train.results import Results
from holdfast.train.saver import Saver
from holdfast.train.screen import Screen
from holdfast.train.validation import Validation
from holdfast.train.witness import Journal, Pulse, Witness, Witnesses


class Session:
    def __init__(self, folder: RunFolder, recipe: Recipe, *, attempt: int, resume: bool, asked: Any) -> None:
        self.folder, self.recipe, self.asked = folder, recipe, asked
        self._resume, self._attempt = resume, attempt
        self.pulse = Pulse(folder, attempt)
        self._journal = Journal(folder, attempt)
        self._witnesses = Witnesses([self._journal, Notices()])
        self.steps_done = 0

    def say(self, event: ev.Event) -> None:
        self._witnesses.say(event)

    def run(self, *, grace_s: float) -> str:
        """Trains to an end and returns the reason. Raises what went wrong, after saying it in the journal."""
        try:
            return self._run(grace_s)
        except Exception as error:
            self.say(raised(error))
            self.say(ev.ExitStarted(raised=type(error).__name__, steps=self.steps_done))
            raise

    def _run(self, grace_s: float) -> str:
        self.pulse.beat(Phase.BUILD)
        self.say(ev.ProcessJoined(python=sys.version.split()[0], executable=sys.executable, argv=sys.argv))
        self.say(framework())
        if self.recipe.train.backend == "jax":
            assemble.leave_gpus_to_jax()
        if self.recipe.train.deterministic:
            assemble.deterministic(self.recipe.train.seed)
        killed = self._killed_for_memory()
        data = assemble.data(self.recipe, frugal=killed is not None)
        plan = assemble.plan(self.recipe, self.folder, data.train.images)
        model, whence = assemble.detector(self.recipe, data.train.columns.classes)
        self._tell_beginning(data, model, whence)
        found = self._checkpoint(data)
        net = assemble.network(model, self.recipe)
        step = assemble.step(net, self.recipe, killed or (found.meta["micro_batch"] if found else None))
        self.say(
            ev.NoteMade(text=f"micro-batches of {step.micro_batch}", facts={"micro_batch": step.micro_batch})
        )
        now = Progress()
        if found is not None:
            now = self._restore(step, found)
        results = Results(
            self.folder.path / "results.csv", resumed_at=now.step, parts=PARTS[self.recipe.model.detector]
        )
        self._witnesses = Witnesses(
            [self._journal, results, Screen(plan.steps, plan.batch, wait_share=self.pulse.wait_share)]
        )
        saver = Saver(self.folder.checkpoints, keep=self.recipe.train.keep_checkpoints, say=self.say)
        loop = Loop(plan, step, now, self._world(data, model, saver))
        try:
            reason = loop.run()
        finally:
            self.steps_done = loop.now.step
            saved = saver.close(grace_s)
        if not saved:
            raise unsaved(self.folder, loop.now.step)
        self.pulse.beat(Phase.AFTER)
        if reason in ("finished", "early-stopping"):
            with assemble.serving(loop.step):
                path = assemble.write_model(model, self.folder)
            self.say(ev.NoteMade(text=f"the model is in {path}", facts={"model": str(path)}))
        return reason

    def _world(self, data: assemble.Data, model: Any, saver: Saver) -> World:
        pulse = self.pulse
        beat = lambda number: pulse.beat(Phase.VALIDATION, test_batches=number)  # noqa: E731
        album = Album(self.folder, data.train.columns, data.validation.columns, lambda: pulse.step)
        validation = Validation(data.validation, compiled(model), beat, album.validated)
        names = data.train.columns.name
        jax = self.recipe.train.backend == "jax"
        return World(
            batches=data.train.numpy_batches if jax else data.train.batches,
            picture_names=lambda batch: [names(int(number)) for number in batch["image"]],
            validate=validation,
            serving=assemble.serving,
            newest=lambda: self._newest_after(saver),
            facts={
                "recipe": resume.flat(self.recipe), "data": data.train.state(0),
                "spec": model.spec.as_json(), "backend": self.recipe.train.backend,
            },
            saver=saver, witnesses=self._witnesses, pulse=pulse, stop_asked=self.asked,
        )  # fmt: skip

    def _newest_after(self, saver: Saver) -> Snapshot | None:
        saver.flush(60.0)
        return resume.newest(self.folder.checkpoints, self._witnesses)

    def _checkpoint(self, data: assemble.Data) -> Snapshot | None:
        if not self._resume:
            return None
        found = resume.newest(self.folder.checkpoints, self._witnesses)
        if found is None:
            self.say(ev.NoteMade(text="nothing was saved yet: begins at the first step"))
            return None
        changed = resume.changes(found.meta["recipe"], resume.flat(self.recipe))
        where = str(self.folder.recipe)
        resume.check(changed, where=where)
        resume.check_images(found.meta["data"], data.train.state(0), where=where)
        if changed:
            facts = {key: list(pair) for key, pair in changed.items()}
            self.say(ev.NoteMade(text=resume.told(changed), facts={"recipe_changed": facts}))
        return found

    def _killed_for_memory(self) -> int | None:
        """The smaller micro-batch to go on with, when the kernel ended the attempt before this one for its memory."""
        entries = reader.read(self.folder.journal) if self._attempt > 1 else []
        killed = relief.after_kill(entries, self._attempt, self.recipe.train.batch)
        if killed is None:
            return None
        before, now = killed
        text = (
            f"the kernel ended the attempt before this one for its memory; micro-batches of {now} instead of {before}, "
            f"the batch stays {self.recipe.train.batch}, and no pictures are kept in memory"
        )
        self.say(ev.NoteMade(text=text, facts={"micro_batch": now, "was": before}))
        return now

    def _restore(self, step: Any, found: Snapshot) -> Progress:
        step.load(found.groups)
        path = str(self.folder.checkpoints / found.name)
        self.say(ev.Restored(path=path, by="trainer", iterations=found.step, optimizer_restored=True))
        return progress.from_json(found.meta["progress"])

    def _tell_beginning(self, data: assemble.Data, model: Any, whence: str) -> None:
        for text in (data.how, whence):
            self.say(ev.NoteMade(text=text))
        for stream, role in ((data.train, "train"), (data.validation, "validation")):
            self.say(ev.DatasetSeen(role=role, type="tf.data", python_fed=False, cardinality=stream.steps or -1,
                                    file_count=stream.images))  # fmt: skip
            for one in stream.columns.left_out[:20]:
                self.say(ev.NoteMade(text=f"a box is left out: {one.file}: {one.detail}"))
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


#: The parts of each detector's loss, which are columns of results.csv.
PARTS = {
    "ssd": ("classification", "localization"),
    "retinanet": ("classification", "localization"),
    "faster-rcnn": ("rpn_objectness", "rpn_localization", "classification", "localization"),
}


class Notices(Witness):
    """Before there is a plan to show progress against: notes as plain lines."""

    def say(self, event: ev.Event) -> None:
        from holdfast.train.screen import words

        text = words(event)
        if text:
            print(text, flush=True)


def framework() -> ev.FrameworkSeen:
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        devices, version = [str(device) for device in jax.devices()], jax.__version__
    else:
        import tensorflow as tf

        devices, version = [device.name for device in tf.config.list_physical_devices()], tf.__version__
    return ev.FrameworkSeen(
        name="keras", version=keras.__version__, backend=backend, devices=devices,
        versions={"keras": keras.__version__, backend: version},
    )  # fmt: skip


def raised(error: Exception) -> ev.ExceptionRaised:
    import traceback

    frames = [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)]
    message = error.what if isinstance(error, HoldfastError) else str(error)
    return ev.ExceptionRaised(
        type=type(error).__name__, message=message[:2000], left="script", frames=frames[-30:],
        errno=getattr(error, "errno", None),
    )  # fmt: skip


def unsaved(folder: RunFolder, step: int) -> DiskFull:
    return DiskFull(
        f"training is at step {step}, and that state could not be saved",
        where=folder.checkpoints,
        found="the reasons stand in the journal as save_failed",
        change="free some space, then `holdfast train --resume` goes on from the newest checkpoint",
    )


def _count(variables: Sequence[Any]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)

"""`holdfast explain RUN --experiment`: trains the recorded model again, as it was and corrected."""

from __future__ import annotations

import copy
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast import atomic_write
from holdfast.errors import HoldfastError
from holdfast.stderr import print_line
from holdfast.subprocess_json import HIDDEN_GPUS, Reply, ask

if TYPE_CHECKING:
    from holdfast.explain.evidence import Evidence
    from holdfast.explain.experiment.model_corrections import Corrected, Suspected
    from holdfast.journal.folder import RunFolder

STEPS, SECONDS = 300, 20.0  # of each training
_TIME_LIMIT_S = 240.0  # of all of it, with the start of the framework
_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?")


class NoExperiment(HoldfastError):
    """There is nothing to train again, or nothing to correct."""

    slug = "no-experiment"
    advice = "`holdfast explain` without --experiment says what is known"


class ExperimentFailed(HoldfastError):
    """The process of the experiment ended without an answer."""

    slug = "experiment-failed"
    advice = "`holdfast explain` without --experiment says what is known"


def experiment(path: Path) -> None:
    """Makes the experiment and stores its result in the run folder."""
    from holdfast.explain.experiment.model_config import NoCorrection
    from holdfast.explain.experiment.model_corrections import corrected
    from holdfast.explain.gather import gather
    from holdfast.journal.folder import RunFolder

    folder = RunFolder(path)
    evidence = gather(path, now=time.time())
    setup = _setup(folder, evidence)
    one = _suspected(evidence, setup)
    try:
        corrections = corrected(one)
    except NoCorrection as error:
        raise NoExperiment(
            f"there is no correction of {one.finding.cause} to try here", where=path, found=str(error)
        ) from error
    print_line(
        f"holdfast: training the recorded model again for {one.finding.cause}: as it was and corrected"
    )
    answer = _trained(folder, evidence, one, corrections)
    rows = [{**row, "change": change.change if change else "", "values": change.values if change else {}}
            for row, change in zip(answer["tried"], [None, *corrections], strict=True)]  # fmt: skip
    result = {"cause": one.finding.cause, "kind": one.finding.title.kind, "task": one.task, "fit": setup["fit"],
              "rows": setup["rows"], "majority": answer.get("majority"), "tried": rows}  # fmt: skip
    _check(rows[0], path)
    atomic_write.write_text(folder.experiment_result, json.dumps(result, indent=1), private=True)


def _setup(folder: RunFolder, evidence: Evidence) -> dict[str, Any]:
    """What the probe stored, with the learning rate of the start."""
    from holdfast.explain.experiment.model_config import named_outside
    from holdfast.journal import events as ev

    kept = evidence.last(ev.ExperimentKept)
    if kept is None or kept.event.left_out:
        raise NoExperiment(
            "the run has no recorded model to train again", where=folder.path, found=why_not_kept(evidence)
        )
    if evidence.fits and kept.event.fit != evidence.fits[-1].number:
        raise NoExperiment(
            "the model of the last fit was not recorded: that fit seems to have learned", where=folder.path
        )
    try:
        setup: dict[str, Any] = json.loads(folder.experiment_model.read_bytes())
    except (OSError, ValueError) as error:
        raise NoExperiment(
            "the recorded model cannot be read", where=folder.experiment_model, found=str(error)
        ) from error
    outside = named_outside([setup["model"], setup["loss"], setup["optimizer"]])
    if outside:
        raise NoExperiment(
            "the recorded model names something that is no part of Keras",
            where=folder.experiment_model,
            found=outside,
        )
    return _at_the_start(setup, evidence)


def _at_the_start(setup: dict[str, Any], evidence: Evidence) -> dict[str, Any]:
    """A callback may have lowered the learning rate until it was recorded."""
    epochs = evidence.fits[-1].epochs if evidence.fits else []
    rate = epochs[0].event.learning_rate if epochs else None
    setup = copy.deepcopy(setup)
    config = setup["optimizer"]["config"]
    if rate and isinstance(config.get("learning_rate"), float):
        config["learning_rate"] = max(rate, config["learning_rate"])
    return setup


def why_not_kept(evidence: Evidence) -> str:
    from holdfast.journal import events as ev

    kept = evidence.last(ev.ExperimentKept)
    if kept is not None:
        return kept.event.left_out
    if not evidence.probed:
        return "the run was not observed from inside"
    if not evidence.fits:
        return "it trained in a loop of its own, without Keras's `fit`"
    return (
        "a model is recorded when a `fit` of five steps or more ends and its loss has not fallen, unless "
        "HOLDFAST_DEEP_LOOK=0 or another part of the probe prevented it"
    )


def _suspected(evidence: Evidence, setup: dict[str, Any]) -> Suspected:
    from holdfast.explain.experiment.experiment_result import subject
    from holdfast.explain.experiment.model_corrections import Suspected, task_of
    from holdfast.explain.judge import judge
    from holdfast.explain.readings.compared import compared

    findings = judge(evidence).findings
    finding = subject(findings)
    if finding is None:
        named = ", ".join(one.cause for one in findings)
        raise NoExperiment(
            "nothing was found that an experiment could correct",
            where=evidence.path,
            found=f"the findings are: {named}" if named else "there is no finding",
        )
    seen = compared(evidence)
    return Suspected(finding, setup, seen, task_of(finding, setup, seen))


def _trained(folder: RunFolder, evidence: Evidence, one: Suspected, corrections: list[Corrected]) -> Any:
    import holdfast.experiment

    setups = [one.setup, *(correction.setup for correction in corrections)]
    question = {
        "folder": str(folder.experiment.resolve()), "inputs": one.setup["inputs"], "rows": one.setup["rows"],
        "task": one.task, "steps": STEPS, "seconds": SECONDS, "setups": setups,
    }  # fmt: skip
    script = Path(holdfast.experiment.__file__).parent / "experiment_process.py"
    python = python_of(evidence)
    environment = {**HIDDEN_GPUS, "KERAS_BACKEND": str(one.setup["backend"])}
    reply = ask(
        str(script),
        question=question,
        python=python,
        environment=environment,
        timeout_s=_TIME_LIMIT_S,
        on_progress=print_line if sys.stderr.isatty() else None,
    )
    return _answer(reply, python)


def _answer(reply: Reply, python: str) -> Any:
    answer = reply.answer if isinstance(reply.answer, dict) else {}
    if "missing" in answer:
        raise ExperimentFailed(
            "the Python of the run cannot import Keras any more",
            where=python,
            found=answer["missing"],
            change="install it there again, or start the run once more with `holdfast run`",
        )
    if reply.timed_out:
        raise ExperimentFailed(
            f"the experiment did not end within {_TIME_LIMIT_S:.0f} s",
            where=python,
            change="try it while the machine is less busy",
        )
    if "tried" not in answer:
        raise ExperimentFailed(
            f"the process of the experiment ended without an answer: {reply.ending}",
            where=python,
            found=reply.last_line,
        )
    return answer


def _check(as_it_was: dict[str, Any], path: Path) -> None:
    """A model that cannot be trained again at all says nothing about the correction."""
    if as_it_was.get("error"):
        raise ExperimentFailed(
            "the recorded model cannot be trained again", where=path, found=as_it_was["error"]
        )


def python_of(evidence: Evidence) -> str:
    """The interpreter that trained, where it is still there; a program inside of the run folder is none."""
    from holdfast.journal import events as ev

    kept = evidence.last(ev.ExperimentKept)
    joined = [one for one in evidence.all(ev.ProcessJoined) if kept is not None and one.pid == kept.pid]
    recorded = Path(joined[-1].event.executable) if joined and joined[-1].event.executable else None
    if recorded is None or not recorded.is_absolute():
        return sys.executable
    inside = evidence.path.resolve() in [*recorded.parents, *recorded.resolve().parents]
    if inside or not _PYTHON.fullmatch(recorded.name) or not os.access(recorded, os.X_OK):
        print_line(f"holdfast: the run's Python, {recorded}, cannot be used; trying {sys.executable}")
        return sys.executable
    return str(recorded)

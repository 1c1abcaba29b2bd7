"""Sentences of causes in the counting of steps and epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled


def _condition(values: Mapping[str, Any]) -> str:
    """ "while `loss > 0.1` and until `patience`": the conditions as they are written in the source."""
    return " and ".join(values["until"])


TITLES: dict[str, Text] = {
    "dataset-exhausted.warned": "the data may have run out before the planned steps",
    "dataset-exhausted": "the data ran out: {steps:count} of {planned:count} planned steps were done",
    "dataset-exhausted.raised": "the data ran out after {steps:count step}: the iterator at {where} has no next batch",
    "dataset-exhausted.iterator": "the iterator at {where} had ended and was asked again: nothing is trained then",
    "dataset-exhausted.loop": "the data ran out at {where}: {steps:count} of {planned:count} planned steps were done",
    "generator-exhausted.rounds": "the generator or iterator[ `{iterator}`] of the loop at {where} ended in the first "
    "of {planned:count round}: the others train nothing",
    "generator-exhausted.later-passes": "the data of the loop at {where} can be gone through once: "
    "{passes:count later pass/later passes} or more trained nothing",
    "generator-exhausted": "the generator ended: {epochs:count later epoch} trained only the first two batches again",
    "generator-exhausted.validation": "the generator of the validation data ended: {validations:count later "
    "validation} measured only the first two batches again",
    "cardinality-changes": "the number of batches changes from epoch to epoch: {least:count} to {most:count}",
    "epoch-never-ends": lambda values: (
        f"the first epoch never ends: the {'generator' if values['generator'] else 'dataset'} repeats forever and "
        "steps_per_epoch is not given"
    ),
    "epoch-never-ends.loop": "the loop at {where} never ends: its dataset is infinite, and it has no break",
    "epoch-never-ends.condition": lambda values: (
        f"the loop at {values['where']} may never end: it runs {_condition(values)}, and makes no progress"
    ),
    "validation-never-ends": lambda values: filled(
        "validation does not end: its data is infinite"
        if values["infinite"]
        else "validation has run for {batches:count} batches and is not over",
        values,
    ),
    "validation-never-ends.loop": "validation does not end: the dataset of the loop at {where} is infinite, and no "
    "training step is done in it",
    "validation-never-ends.planned": "one validation is to have {planned:count batch/batches}, more than the whole "
    "training: {batches:count} are done",
    "filter-never-passes": "the dataset's filter lets nothing through: it searches forever",
}

FACTS: dict[str, Text] = {
    "keras.warned-of-data-end": "Keras warned that the input ran out of data, and continued",
    "dataset.length": "the dataset has {batches:count batch/batches}",
    "dataset.length-unknown": "the data[ ({type})] has an unknown length",
    "dataset.length-of-first-epoch": "its length is not known beforehand; Keras takes the first epoch's for all "
    "later ones and cuts longer epochs off",
    "dataset.infinite": "the dataset reports that it is infinite[ ({where})]",
    "fit.steps-per-epoch": "steps_per_epoch={steps} was asked for[ ({where})]",
    "fit.no-steps-per-epoch": "fit[ ({where})] was called without steps_per_epoch",
    "epoch.unfinished": "the first epoch has {steps:count step} so far and has not ended",
    "iterator.asked-after-its-end": "it was asked at {where} after its end, {times:count time} or more; "
    "{steps:count step} were done in all",
    "iterator.ended-in-loop": "the iterator ended after {steps:count step} in a loop up to `{bound}` = "
    "{planned:count}; no step was done after that",
    "iterator.ended-in-rounds": "a generator, `zip` or `map` can be gone through once: all {steps:count step} were "
    "done in the first round of a loop up to `{bound}` = {planned:count}",
    "loop.later-passes-empty": "after {steps:count step} {passes:count pass/passes} or more at {where} gave no batch",
    "generator.behind-dataset": "its elements come from Python code that runs once[ ({where})]",
    "generator.not-restartable": "the data comes from a Python generator[ ({where})], which cannot be started again; "
    "Keras repeats the two batches that it drew before training",
    "generator.endless": "its generator ({where}) has no end: a `while True` without a return",
    "loop.without-break": "the loop at {where} is inside another loop and has no break; its first round has "
    "{steps:count step} so far",
    "loop.open": lambda values: (
        f"the loop at {values['where']} runs {_condition(values)}; it has no counter and no clock"
    ),
    "loop.no-progress": "after {steps:count step}: {why}",
    "validation.batches": "batches by validation: {batches:list 12}",
    "validation.unfinished": "{batches:count} validation batches so far, after {training_steps:count step} of training "
    "an epoch",
    "steps.none-in-pass": "no training step was done in the last {seconds:duration}, while its batches were drawn",
    "loop.nothing-leaves": "the loop at {where} has no break",
    "validation.planned": "{batches:count} are planned",
    "training.planned-steps": "the whole training has {steps:count}",
    "validation.endless": "{batches:count} batches in {seconds:duration}: {why}",
    "pipeline.threads-busy": "no batch comes, with {count:count native thread} of the pipeline busy: {names:list 4}",
    "pipeline.filter": "the pipeline has a filter[ ({where})][: {function}]",
    "pipeline.repeats": "the pipeline repeats forever, so the filter never reaches the end of the data",
    "filter.passed-none": "the filter was given {elements:count element} in {seconds:duration} and passed none",
}

REMEDIES: dict[str, Advice] = {
    "dataset.repeat": Advice(
        "repeat the dataset and give steps_per_epoch", "model.fit(ds.repeat(), steps_per_epoch=n, epochs=…)"
    ),
    "dataset.without-repeat": Advice("leave out repeat(): every pass over a dataset starts it again"),
    "fit.without-steps-per-epoch": Advice(
        "leave steps_per_epoch out: Keras then uses the whole dataset in every epoch"
    ),
    "fit.give-steps-per-epoch": Advice(
        "set the length of an epoch", "model.fit(ds, steps_per_epoch=records // batch, epochs=…)"
    ),
    "fit.give-validation-steps": Advice(
        "set the number of validation batches, or let the validation dataset end",
        "model.fit(…, validation_steps=len(val_files) // batch)",
    ),
    "loop.take-batches": Advice(
        "take as many batches as the evaluation needs", "for batch in val_ds.take(validation_steps): …"
    ),
    "fit.count-validation-in-batches": Advice(
        "count the validation in batches, not in samples",
        "model.fit(…, validation_steps=len(x_val) // batch)",
    ),
    "iterator.make-one-an-epoch": Advice(
        "make a new iterator for every epoch", "for batch in ds: …   # or iter(ds)"
    ),
    "iterator.repeat": Advice("repeat the dataset, so that it never ends", "it = iter(ds.repeat())"),
    "generator.make-endless": Advice(
        "a generator that never ends, with steps_per_epoch",
        "def batches():\n    while True:\n        yield from one_epoch()\n"
        "model.fit(batches(), steps_per_epoch=n, epochs=…)",
    ),
    "generator.make-one-a-pass": Advice(
        "call the function that makes the generator in each pass, instead of handing out one generator again",
        "tf.data.Dataset.from_generator(lambda: read(path), …)   # not: rows = read(path); lambda: rows",
    ),
    "generator.make-a-class": Advice(
        "a keras.utils.PyDataset or tf.data.Dataset, which start again in every epoch"
    ),
    "generator.return-after-one-pass": Advice("let the generator return after one pass through the data"),
    "loop.take-steps": Advice("set the length of an epoch", "for batch in ds.take(steps_per_epoch): …"),
    "loop.bound": Advice(
        "give the loop an end that it reaches in any case",
        "for step in range(MAX_STEPS): …; if loss < GOAL: break",
    ),
    "loop.reachable-goal": Advice(
        "choose a goal that this model and data can reach, or a smaller learning rate"
    ),
    "filter.count-what-passes": Advice(
        "try the filter alone, without repeat", "print(sum(1 for _ in ds.filter(keep).take(10)))"
    ),
    "filter.before-repeat": Advice(
        "filter before repeat; an empty dataset then ends, and Holdfast reports it",
        "ds = ds.filter(keep).repeat()",
    ),
}

RULED_OUT: dict[str, Text] = {
    "dataset-exhausted.all-done": "all {planned:count} planned steps were done",
}

"""Sentences of causes in the model, the loss and the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled
from holdfast.units import number

_AT = "[ ({where})]"
_LONGEST = 1e9  # written out: prices and amounts are easier to read than powers of ten


def _amount(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < _LONGEST else number(value)


def _span(values: Mapping[str, Any], low: str = "low", high: str = "high") -> str:
    return f"{_amount(values[low])} to {_amount(values[high])}"


def _range(values: Mapping[str, Any]) -> str:
    low, high = number(values["low"]), values["high"]
    reach = f"between {low} and {number(high)}" if high is not None else f"above {low}"
    return filled(
        f"{{layer}} gives numbers {reach}, and the targets are {_span(values, 'target_low', 'target_high')}"
        + _AT,
        values,
    )


def _compared(values: Mapping[str, Any]) -> str:
    option = "" if values["from_logits"] is None else f" (from_logits={values['from_logits']})"
    return filled(
        f"the loss {{loss}}{option}[ of {{loss_where}}] compares the labels with {{layer}}[ of {{where}}]",
        values,
    )


def _targets(values: Mapping[str, Any]) -> str:
    if values["one_hot"]:
        return filled(f"each of the labels is a row of {values['shape'][-1]} numbers with one 1", values)
    if values["low"] is None:
        return "the targets are not finite"
    shape = " in rows of shape " + str(tuple(values["shape"])) if values["shape"] not in ([], [1]) else ""
    return filled(
        f"the targets are {_span(values)}{shape}[, {{distinct}} different whole numbers] "
        "in {rows:count row}",
        values,
    )


def _shape(shape: list[int | None]) -> str:
    sides = ["n" if side is None else str(side) for side in shape]
    return f"({sides[0]},)" if len(sides) == 1 else f"({', '.join(sides)})"


def _shapes(values: Mapping[str, Any]) -> str:
    return f"predictions of shape {_shape(values['predicted'])} against targets of shape {_shape(values['wanted'])}"


def _shapes_title(values: Mapping[str, Any]) -> str:
    meant = (
        "every prediction is compared with every target"
        if values["every_pair"]
        else "one is repeated for the other"
    )
    return f"{_shapes(values)}: {meant}"


def _nearest(values: Mapping[str, Any]) -> str:
    if values["of"] == "classes":
        return filled(
            "the most similar other row has the same label for {agreement:percent} of {rows:count row}; labels dealt "
            "out by chance give {chance:percent}",
            values,
        )
    return filled(
        "the target of the most similar other row correlates with {agreement:number} over {rows:count row}; "
        "by chance it is 0",
        values,
    )


def _all_labels(values: Mapping[str, Any]) -> str:
    what = f"class {values['class_id']}" if values["class_id"] is not None else number(values["value"])
    return filled(f"all labels are {what} in {{rows:count row}}" + _AT, values)


def _dense(values: Mapping[str, Any]) -> str:
    units = values.get("units") or 1
    layer = values.get("layer") or "Dense"
    return f"{layer}({units}" if layer == "Dense" else f"keras.layers.Dense({units}"


def _with_activation(values: Mapping[str, Any]) -> str:
    return f'{_dense(values)}, activation="{values["activation"]}")'


def _plain(values: Mapping[str, Any]) -> str:
    return f"{_dense(values)})"


def _class_weight(values: Mapping[str, Any]) -> str:
    common, weight = values["class_id"], number(values["weight"])
    other = "0" if common == "1" else "1"
    return f"model.fit(x, y, class_weight={{{common}: 1.0, {other}: {weight}}})"


def _columns(values: Mapping[str, Any]) -> str:
    spans = ", ".join(f"{number(low)} to {number(high)}" for low, high in values["columns"])
    text = (
        f"the four numbers of {{rows:count box/boxes}} are {spans}; in {{corners:percent}} of them the last two are "
        "above the first two"
    )
    size = (
        f", and the images are {values['image'][1]} x {values['image'][0]} pixels" if values["image"] else ""
    )
    return filled(text + size, values)


def _beyond(values: Mapping[str, Any]) -> str:
    size = f"{values['image'][1]} x {values['image'][0]}"
    return f"the boxes reach {_amount(values['high'])}, and the images are {size} pixels"


def _divide(values: Mapping[str, Any]) -> str:
    if not values["image"]:
        return "boxes = boxes / image_size"
    high, wide = values["image"]
    return f"boxes = boxes / [{wide}, {high}, {wide}, {high}]"


TITLES: dict[str, Text] = {
    "boxes-wrong-format.pixels": "the boxes are in pixels, up to {high:number}, and the output ends with {activation}, "
    "which gives parts of 1" + _AT,
    "boxes-wrong-format.two-scales": "{by_one:percent} of the boxes are parts of the image from 0 to 1, and the others "
    "are in pixels, up to {high:number}",
    "boxes-wrong-format.beside": "{outside:percent} of the boxes lie beside the image in {axis}, and none in the other "
    "direction: are they mirrored in another unit?",
    "boxes-wrong-format.inverted": "{inverted:percent} of the boxes end before they begin in {axis}, and none in the "
    "other direction: a mirror exchanges the two edges",
    "boxes-wrong-format.one-cell": "{one_cell:percent} of the objects lie in one cell of the grid, and their place in "
    "it goes up to {highest:number} cells: are the boxes in pixels?",
    "boxes-wrong-format.negative-size": "{negative:percent} of the objects have a width or a height below 0: are the "
    "last two numbers of their boxes a size or a corner?",
    "boxes-wrong-format.clipped": "objects pile up at the edge of a map of {columns} x {rows} places: {right:count} of "
    "{objects:count} in its last column, {bottom:count} in its last row, {first:count} in its first ones at most",
    "boxes-wrong-format.two-formats": "some boxes are corners, and others are a position with a width and a height",
    "boxes-wrong-format.not-corners": "the boxes are not given by their corners, and {name} finds no overlap",
    "boxes-wrong-format.beyond": _beyond,
    "background-id-clash": "class id {class_id} means background and an object: {objects:count box/boxes} and "
    "{empty:count place} without a box have it",
    "background-id-clash.only": "every place has class id {class_id}, {objects:count box/boxes} and "
    "{empty:count place} without a box: nothing tells an object from background",
    "background-id-clash.unused": "most places have class id 0, and unit {unused} of {units} has no label: is 0 the "
    "background or an object?",
    "box-loss-dominates": "the loss of the boxes is {times:number} times that of the classes, and the classes are not "
    "learned ({box}, {classes})",
    "all-background": "the network answers background at every place: {share:percent} of them are class {class_id}",
    "output-loss-mismatch.one-unit": "{layer} is 1.0 for every input: a softmax over one unit" + _AT,
    "output-loss-mismatch.categorical-of-one": "{loss} over one unit is the same for every answer" + _AT,
    "output-loss-mismatch.refused": "binary_cross_entropy expects probabilities, and was given values outside 0 and 1",
    "output-loss-mismatch.not-probabilities": "the loss {loss} expects probabilities, and {layer} gives any number"
    + _AT,
    "output-loss-mismatch.twice": "the {activation} is applied twice: by {layer} and by the loss with from_logits=True"
    + _AT,
    "output-loss-mismatch.sigmoid-for-exclusive": "{layer} answers for {units} classes that exclude each other, and "
    "its numbers do not add up to 1" + _AT,
    "output-loss-mismatch.softmax-with-binary": "{layer} with {loss}: the loss asks each unit by itself, and a softmax "
    "ties them together" + _AT,
    "output-loss-mismatch.binary-for-exclusive": "{layer} with {loss} for classes that exclude each other: each unit "
    "learns to say no" + _AT,
    "output-loss-mismatch.cut-before": "the numbers before the {activation} go through another activation first: what "
    "that cuts off is lost" + _AT,
    "output-range-mismatch": _range,
    "output-units-mismatch": "{layer} has one unit for {classes} classes" + _AT,
    "output-units-mismatch.too-wide": "{layer} answers {units} numbers for targets of one number each" + _AT,
    "loss-task-mismatch.ids-for-rows": "the loss {loss} wants rows with one 1, and the labels are class ids"
    + _AT,
    "loss-task-mismatch.rows-for-ids": "the loss {loss} wants class ids, and the labels are rows with one 1"
    + _AT,
    "loss-task-mismatch.rows": "the loss {loss} takes the {units} numbers of a class label for measurements"
    + _AT,
    "loss-task-mismatch.outside": "the loss {loss} is made for labels from 0 to 1, and they are {low:number} to "
    "{high:number}" + _AT,
    "loss-task-mismatch.numbers": "the loss {loss} is made for classes, and the targets are measurements from "
    "{low:number} to {high:number}" + _AT,
    "loss-task-mismatch.ids": "the loss {loss} compares class ids up to {high:number} with {units} probabilities"
    + _AT,
    "shapes-broadcast": _shapes_title,
    "shapes-broadcast.refused": lambda values: (
        f"an array of shape {_shape(values['predicted'])} is stretched over one of shape {_shape(values['wanted'])}: "
        f"the {values['rows']:,} times {values['rows']:,} pairs do not fit into memory"
    ),
    "metric-mismatch.contradicted": "the accuracy counts something else than the answers: with a loss of {loss:number} "
    "at least {least:percent} of them are right, and it says {accuracy:percent}" + _AT,
    "metric-mismatch.numbers": "accuracy says nothing about a regression: no prediction equals its target"
    + _AT,
    "metric-mismatch.binary": "binary accuracy of rows with one 1 is {always:percent} for whoever always says 0"
    + _AT,
    "targets-not-scaled": lambda values: f"the targets are {_span(values)}, far from where a network starts",
    "input-scale-mismatch.saturates": "inputs of up to {high:number} put the first activation at its limits: "
    "nothing of them "
    "passes",
    "input-scale-mismatch.columns": "the columns of the inputs vary by {smallest:number} to {largest:number}: the "
    "largest drowns the others" + _AT,
    "input-constant": "all input rows are the same" + _AT,
    "labels-constant": _all_labels,
    "labels-unrelated": "the labels do not depend on the inputs: rows that are alike have labels as by chance",
    "labels-unrelated.images": "the labels do not depend on the images: what their shapes and colours say about the "
    "labels is as by chance",
    "labels-unrelated.pairs": "the pairs do not belong together: two loaders are drawn from in turn, and each "
    "shuffles for "
    "itself",
    "labels-unrelated.classes-of-boxes": "it locates objects and names {right:percent} of them right, as chance would: "
    "the classes of the boxes may be mixed up",
    "labels-unrelated.by-heart": "the loss fell by {fell:percent} in {passes:number} passes, and the validation finds "
    "nothing: boxes may belong to other images, or the validation data is of another kind",
    "class-imbalance.never-trained": "the training data has no box of {classes:list 4}, and the validation data has "
    "{boxes:count}: they are never found",
    "class-imbalance": "{share:percent} of the labels are class {class_id}, and the network answers nothing else",
    "framework-warning": "the framework warned: {text:clip 110}" + _AT,
}

FACTS: dict[str, Text] = {
    "classes.only-validated": "{share:percent} of the boxes for validation are of classes that have none for training: "
    "{classes:list 8}",
    "loaders.orders-apart": "two loaders of {rows:count row} each are drawn from in turn[ ({where})], each in a random "
    "order of its own[: one generator makes both, one after the other{shared_generator:if}]",
    "loss.by-chance": "the loss is {last:number} after {steps:count step}; by chance it is {chance:number}",
    "boxes.columns": _columns,
    "boxes.cells": "of {objects:count object} in a grid {one_cell:percent} share one cell, {beyond:percent} lie "
    "outside of their own, and {negative:percent} have a size below 0",
    "boxes.at-edge": "of {objects:count object} in the targets {right:count} are in the last column and {bottom:count} "
    "in the last row: coordinates beyond the map are clipped to it",
    "boxes.output": "the output for boxes ends with {activation}[ at {where}]",
    "overlap.none": "{name} shows an overlap of {last:percent} at the end[, although the loss fell by {fell:percent}]",
    "ids.of-both": "{objects:count box/boxes} and {empty:count place} without a box have class id {class_id}",
    "ids.answered": "the model answers {class_id} at {answered:count} of {places:count place}, and so does it for "
    "objects with that id",
    "ids.not-found": "by the number of the model that tells objects best, {found:percent} of those with id {class_id} "
    "are found, and {others:percent} of the other ids or more",
    "ids.no-other-output": "the model has {units:count output} for classes, four numbers for a box, and nothing that "
    "says whether there is an object",
    "ids.unused-unit": "the network has {units:count unit} for classes, and no label uses the last one, {unused}",
    "loss.part-course": "{name} went from {first:number} to {last:number}",
    "places.by-class": "{share:percent} of {places:count place} are class {class_id}",
    "gradients.of-heads": "at step {step:count} the gradient of the box head's weights has a norm of {box:number}, "
    "that of the class head's {classes:number}",
    "places.no-object": "none of {places:count place} of the targets has an object[, in {batches:count batch}]",
    "places.answered": "of {places:count place} in rows of the training data {objects:count} have an object, and the "
    "network answers for none[; an object has a higher score than an empty place in {apart:percent} of pairs]",
    "training.course": "the loss went from {first:number} to {last:number} in {steps:count step}"
    "[; the best answer that ignores the inputs has {constant:number}]",
    "accuracy.contradicts-loss": "the last epoch has loss {loss:number} and accuracy {accuracy:percent}; a wrong "
    "answer costs at least 0.693, so at least {least:percent} are right",
    "training.accuracy-against-majority": "accuracy is {accuracy:percent} in training; the most frequent class alone "
    "gives {majority:percent}",
    "output.compared": _compared,
    "targets.seen": _targets,
    "loss.reads-logits-behind": "TensorFlow's loss reads the numbers behind the {activation}: it trains as with a "
    "softmax, and only the predictions are other numbers",
    "shapes.compared": _shapes,
    "arrays.stretched": lambda values: (
        f"{values['column']} has the shape {_shape(values['column_shape'])}, and {values['row']} "
        f"{_shape(values['row_shape'])}"
    ),
    "inputs.column-scales": "the standard deviations of {columns:count column} go from {smallest:number} to "
    "{largest:number}",
    "inputs.all-equal": "{rows:count row} of inputs are equal, with values from {low:number} to {high:number}",
    "labels.all-equal": _all_labels,
    "labels.of-nearest-rows": _nearest,
    "labels.another-each-time": "{again:count row} came again in a later batch, {other:count} of them with another "
    "label",
    "files.sorted-as-text": "the files are in the order of text, not of their numbers: {first} comes before {second}",
    "validation.by-chance": "in none of {epochs} epochs the validation was better than a constant answer: its loss was "
    "{best:number} or more, and {constant:number} is that of a constant one",
    "labels.of-images-left-out": "a regression on simple features of {rows:count image} says of images left out what "
    "correlates with their labels by {agreement:number}",
}

REMEDIES: dict[str, Advice] = {
    "classes.train-on-them": Advice(
        "move some of these images to the training data, or leave the classes out of both"
    ),
    "boxes.divide": Advice("give the boxes as parts of the image", _divide),
    "boxes.one-scale": Advice(
        "bring all boxes to one scale where they are read",
        "boxes = np.where(boxes.max(-1, keepdims=True) > 2, boxes / size, boxes)",
    ),
    "boxes.one-format": Advice(
        "convert every source to one format where it is read", "x1, y1, x2, y2 = x, y, x + width, y + height"
    ),
    "boxes.to-corners": Advice(
        "convert to corners before the overlap is computed", "x1, y1, x2, y2 = x, y, x + width, y + height"
    ),
    "boxes.mirror": Advice(
        "mirror the boxes in their own unit, and exchange their edges",
        "x1, x2 = width - x2, width - x1   # 1 - x for parts",
    ),
    "boxes.cell-of-parts": Advice(
        "divide the boxes by the image's size before the cell is computed", "boxes = boxes / image_size"
    ),
    "boxes.scale-with-image": Advice(
        "scale the boxes with the images when those are resized", "boxes = boxes * (new_size / old_size)"
    ),
    "boxes.draw": Advice("draw some boxes on their images"),
    "ids.shift": Advice(
        "keep 0 for background, and begin the objects at 1", "ids = ids + 1   # where there is a box"
    ),
    "ids.last-is-background": Advice(
        "give background the last unit", "ids = np.where(has_box, ids, {unused})"
    ),
    "loss.scale-boxes": Advice(
        "give the boxes as parts of the image, so that both losses are near 1", "boxes = boxes / image_size"
    ),
    "loss.weigh-boxes": Advice(
        "give the box loss a small weight", 'loss_weights={"{output}": {weight:number}}'
    ),
    "classes.focal-loss": Advice(
        "use a focal loss, which counts easy background less",
        "loss=keras.losses.CategoricalFocalCrossentropy()   # BinaryFocalCrossentropy() for sigmoids",
    ),
    "classes.sample-places": Advice(
        "give the objects more weight, or train on as many places with an object as without",
        "sample_weight=np.where(ids > 0, 10.0, 1.0)",
    ),
    "output.sigmoid-for-two": Advice(
        "use a sigmoid for two classes", 'Dense(1, activation="sigmoid")   # loss="binary_crossentropy"'
    ),
    "output.linear-for-numbers": Advice("leave the last layer of a regression without an activation", _plain),
    "output.activation": Advice("end with a {activation}", _with_activation),
    "output.no-activation": Advice("leave the activation out", _plain),
    "output.softmax-and-categorical": Advice(
        "end with a softmax, and use the categorical cross-entropy",
        lambda values: f'{_dense(values)}, activation="softmax")   # loss="categorical_crossentropy"',
    ),
    "output.one-unit-each": Advice(
        "give each class a unit",
        lambda values: f'{_dense(values)}, activation="softmax")   # loss="sparse_categorical_crossentropy"',
    ),
    "output.one-answer-each": Advice(
        "let the last recurrent layer answer once for each sequence", "LSTM(10, return_sequences=False)"
    ),
    "loss.binary-for-one-unit": Advice(
        "use the binary cross-entropy for one unit",
        'Dense(1, activation="sigmoid")   # loss="binary_crossentropy"',
    ),
    "loss.with-logits-in-torch": Advice(
        "use the loss that takes raw scores, or give this one their sigmoid",
        "loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, targets)",
    ),
    "loss.from-logits": Advice("let the loss take any number", "loss=keras.losses.{loss}(from_logits=True)"),
    "loss.from-probabilities": Advice(
        "say that they are probabilities", "loss=keras.losses.{loss}(from_logits=False)"
    ),
    "loss.use": Advice("use the loss that fits", 'loss="{loss}"'),
    "loss.regression": Advice("use a loss for numbers", 'loss="mse"   # after Dense(1)'),
    "targets.scale-into-range": Advice(
        "scale the targets into the range", "y = (y - y.min()) / (y.max() - y.min())"
    ),
    "targets.scale-to-unit": Advice("scale the targets to 0 to 1", "y = (y - y.min()) / (y.max() - y.min())"),
    "targets.standardise": Advice(
        "train on standardised targets, and undo it after `predict`", "y = (y - y.mean()) / y.std()"
    ),
    "targets.same-shape": Advice(
        "give targets and predictions the same shape", "y = y.reshape(len(y), 1)   # and Dense(1)"
    ),
    "arrays.same-shape": Advice(
        "remove the last axis of {column} before it is compared; more memory is no cure",
        "{column}.squeeze(-1)   # (n, 1) -> (n,)",
    ),
    "model.rescale-last": Advice(
        "scale the last layer's numbers inside the model",
        "keras.layers.Rescaling(scale=y.std(), offset=y.mean())",
    ),
    "metric.as-keras-chooses": Advice(
        "let Keras choose the accuracy that fits the labels; CategoricalAccuracy wants rows with one 1, "
        "SparseCategoricalAccuracy class ids",
        'metrics=["accuracy"]',
    ),
    "metric.for-numbers": Advice("measure the error of a regression", 'metrics=["mae"]'),
    "metric.categorical": Advice(
        "count right rows instead of right numbers", 'metrics=["categorical_accuracy"]'
    ),
    "metric.of-rare-class": Advice(
        "watch the rare class, not accuracy", "metrics=[keras.metrics.Recall(), keras.metrics.AUC()]"
    ),
    "classes.weight": Advice("give the rare class more weight", _class_weight),
    "inputs.standardise": Advice("standardise each column", "x = (x - x.mean(axis=0)) / x.std(axis=0)"),
    "model.normalise-inputs": Advice(
        "normalise in the model, where it cannot be forgotten",
        "keras.layers.Normalization()   # and adapt(x)",
    ),
    "inputs.look-at-them": Advice("look at what the loader returns", "print(x[:3], x.std(axis=0))"),
    "labels.look-at-them": Advice(
        "count the labels where they are read", "print(np.unique(y, return_counts=True))"
    ),
    "labels.check-recipe": Advice(
        "check that boxes and classes belong to their images, and look at some",
        "holdfast check RECIPE\nholdfast data inspect DATA",
    ),
    "labels.check-files": Advice(
        "check that images and labels are in the same order: sorted names put 10 before 2",
        "label_of = dict(zip(table.name, table.label)); labels = [label_of[path.name] for path in paths]",
    ),
    "labels.one-dataset": Advice(
        "draw both from one dataset with one loader: a row and what belongs to it have one place",
        "loader = DataLoader(StackDataset(first, second), batch_size=64, shuffle=True)",
    ),
    "labels.check-order": Advice(
        "check that inputs and labels are in the same order: shuffle and sort both with one permutation",
        "order = np.random.permutation(len(x)); x, y = x[order], y[order]",
    ),
    "warning.follow": Advice("do what the warning says[, at {where}]"),
}

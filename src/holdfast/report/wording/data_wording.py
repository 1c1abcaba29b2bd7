"""Sentences of causes in the supply and the content of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.explain.readings.readers import Awaits
from holdfast.report.wording import shared_wording
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, filled, listed

_BOX_FAULTS = {
    "inverted": "inverted",
    "zero_area": "of zero area",
    "outside": "outside the image",
    "not_finite": "not finite",
    "wrapped": "with coordinates that wrapped around",
}
_AWAITED: dict[str, str] = {
    Awaits.QUEUE: " for a queue",
    Awaits.PROCESS_QUEUE: " for a queue between processes",
    Awaits.PROGRAM: " for a program that it started",
}
_NOT_RAISED = {
    "fill": "NaN comes back",
    "clip": "the last one is taken in its place",
    "one-hot": "such a row is all zeros, and is never trained",
}
_ROWS_SHOWN, _FILES_SHOWN = 4, 4


def _boxes(values: Mapping[str, Any]) -> str:
    """ "1 inverted (row 217 of the batch), such as [9, 9, 2, 2]" """
    counts = ", ".join(f"{number} {_BOX_FAULTS[fault]}" for fault, number in values["counts"].items())
    rows = f" (row {listed(values['rows'], _ROWS_SHOWN)} of the batch)" if values["rows"] else ""
    if rows and "edges" in values:  # found in the records, not in a batch
        rows = f" (record {listed(values['rows'], _ROWS_SHOWN)})"
    return counts + rows + filled("[, such as {first}]", values)


def _faulty_boxes(values: Mapping[str, Any]) -> str:
    where = (
        "the batch at which it broke" if values["batch"] is None else filled("batch {batch:count}", values)
    )
    return f"{where} has bad boxes: {_boxes(values)}"


def _boxes_stored(values: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{number} {_BOX_FAULTS[fault]}" for fault, number in values["counts"].items())
    rows = f" (row or record {listed(values['rows'], _ROWS_SHOWN)})" if values["rows"] else ""
    return f"what {values['path']} keeps has bad boxes: {counts}{rows}" + filled(
        "[, such as {first}]", values
    )


def _boxes_in_records(values: Mapping[str, Any]) -> str:
    low, high = values["edges"]
    error = ", the numbers that the error names" if values["in_error"] else ""
    return f"{values['path']} has bad boxes: {_boxes(values)}; one goes from {low} to {high}{error}"


def _class_id(values: Mapping[str, Any]) -> str:
    which = filled("class id {class_id}", values) if values["class_id"] is not None else "a class id"
    if values["classes"] is None:
        return f"{which} is not among those that the model predicts"
    return f"{which} among {values['classes']} classes: valid are 0 to {values['classes'] - 1}"


def _dropped(values: Mapping[str, Any]) -> str:
    damaged = {
        "records": "{count:count record} are corrupt, or follow a corrupt one in their file",
        "images": "{count:count image} cannot be decoded",
    }
    files = [f"{path} ({lost})" if lost else path for path, lost in values["lost_by_file"].items()]
    return filled(damaged[values["unit"]], values) + f", and are dropped: {listed(files, _FILES_SHOWN)}"


def _batch_not_finite(values: Mapping[str, Any]) -> str:
    if values["sample"] is not None:
        return filled("sample {sample:count} has {value:or such a value} in {name}", values)
    if values["read_again"]:
        return filled(
            "batch {step:count} of the data has {value:or such a value} in {name}[, sample {row}]", values
        )
    return filled(
        "the batch of step {step:count} has values that are not finite in {name}[, sample {row}]", values
    )


def _data_not_finite(values: Mapping[str, Any]) -> str:
    if values["what"]:
        return filled("the {what}[ {name}] is not finite at step {step:count}", values)
    return filled("the training data has values that are not finite (checked at step {step:count})", values)


def _blocked(values: Mapping[str, Any]) -> str:
    reader = "the next batch never arrives: a reader" if values["next_batch"] else "a reader"
    awaited = (
        filled(" for {program:code 80}", values) if values["program"] else _AWAITED.get(values["awaits"], "")
    )
    return f"{reader} waits forever{awaited}" + filled("[: {file}][ at {where}]", values)


def _producer(values: Mapping[str, Any]) -> str:
    who = f"process {values['pid']}" if values["pid"] else "the main thread"
    who = f"thread {values['thread']}" if values["thread"] and not values["pid"] else who
    at = filled("is at {where}", values) if values["where"] else "is running"
    return f"{who} {at}" + filled("[{queue_full:if} and waits for space in a full queue]", values)


def _input_range(values: Mapping[str, Any]) -> str:
    if values["pixels"]:
        return filled("inputs go up to {high:number}, like pixels that were not scaled", values)
    return filled(
        "inputs range from {low:number} to {high:number}; a fresh network expects about -1 to 1", values
    )


def _one_image(values: Mapping[str, Any]) -> str:
    odd = f"{values['odd']} channels" if values["odd"] else "no channel dimension"
    usual = values["usual"] or "no such dimension"
    return f"one image has {odd}, the others have {usual}"


def _mixed_sizes(values: Mapping[str, Any]) -> str:
    if not values["shapes"]:
        return "arrays of different shapes do not fit into one batch"
    one, other = values["shapes"]
    return f"elements of shapes {one} and {other} do not fit into one batch"


def _binary_targets(values: Mapping[str, Any]) -> str:
    known = filled(" (they range from {low:number} to {high:number})", values) if values else ""
    return (
        f"targets of the binary loss are not between 0 and 1{known}: it falls without end and means nothing"
    )


TITLES: dict[str, Text] = {
    "input-starved": "the model waits for data {share:percent} of the time",
    "storage-slow": "the loader waits for storage[ ({file} …)]",
    "input-blocked": _blocked,
    "input-blocked.no-stacks": "it waits for a batch that does not arrive",
    "shuffle-refill-pause": "every epoch begins with a pause of {pause_s:duration} while the shuffle buffer fills",
    "dataset-empty": "the training dataset[ ({where})] is empty: no step was done",
    "dataset-empty.validation": "the validation dataset[ ({where})] is empty: there are no val_ metrics",
    "dataset-smaller-than-batch": "{records:count record} are fewer than a batch of {batch}, and incomplete batches "
    "are dropped",
    "dataset-smaller-than-batch.validation": "the validation[ ({where})] has no batch: {records:count record} are "
    "fewer than a batch of {batch}, and incomplete batches are dropped",
    "dataset-smaller-than-batch.workers": "each of the {workers} loader processes makes batches of its own, and none "
    "has {batch:count record} for one: incomplete batches are dropped",
    "undecodable-image": lambda values: (
        filled("the image {file} cannot be decoded", values)
        if values["file"]
        else "an image cannot be decoded; TensorFlow does not name the file"
    ),
    "wrong-channels": "the model takes {wanted} channels and was given {given}",
    "wrong-channels.shape": "the model takes {wanted} channels and was given shape ({shape})",
    "wrong-channels.one-image": _one_image,
    "corrupt-record": lambda values: filled(
        "the record file {file:or (not named by TensorFlow)} is "
        + ("truncated" if values["truncated"] else "corrupt")
        + "[ at offset {offset:count}]",
        values,
    ),
    "corrupt-record.damaged": "the file {file} is corrupt",
    "corrupt-record.cut-off": "the data file {file} is cut off",
    "corrupt-record.cut-off-while-mapped": "{file} was cut off to {size_bytes:size} while {mapped_bytes:size} of it "
    "were mapped into memory",
    "corrupt-record.open": "the file {file} is cut off; whether it holds data or weights is not known",
    "corrupt-record.perhaps": "{file} may hold data",
    "data-silently-dropped": "corrupt data is dropped silently, and good data after it is lost too",
    "bad-boxes": lambda values: f"bad boxes broke the loss: {_boxes(values)}",
    "bad-boxes.refused": "a library refused the boxes that it was given",
    "bad-boxes.records": lambda values: f"bad boxes in {values['path']} failed a check: {_boxes(values)}",
    "class-id-out-of-range": _class_id,
    "class-id-out-of-range.outputs": "class ids go up to {class_id}, and the model has {classes} outputs",
    "class-id-out-of-range.lookup": "an id is not in the table that it is looked up in[: {index:number}, "
    "of {size:number} rows]",
    "class-id-out-of-range.jax": lambda values: filled(
        "ids go up to {high:number}, and the table has {size:number} rows"
        if values["table"]
        else "class ids go up to {high:number}, and there are {size:number} classes",
        values,
    ),
    "class-id-out-of-range.binary-loss": _binary_targets,
    "no-positive-anchors.targets": "no place of the targets has an object in any of {batches:count batch}: no anchor "
    "matches an object, so the boxes are never trained",
    "no-positive-anchors": "{zero:list} is exactly 0.0 at every step: no anchor matches an object, so it is never "
    "trained",
    "no-positive-anchors.uncovered": "it found next to nothing, and {share:percent} of the boxes overlap no anchor by "
    "half at {input} px",
    "input-not-finite": "the data has NaN or infinity",
    "input-not-finite.made": "a function of the input makes NaN or infinity of numbers that are finite",
    "input-scale-mismatch": "inputs go up to {high:number}, and no layer of the model scales them",
    "input-scale-mismatch.outlier": lambda values: (
        f"one value of the data is far beyond all others: {shared_wording.outlier(values)}"
    ),
    "mixed-image-sizes": _mixed_sizes,
}

FACTS: dict[str, Text] = {
    # -- waiting for data ---------------------------------------------------------------------------
    "data.waited-for": "{share:percent} of the step time was spent waiting for the next batch, {seconds:duration} in "
    "total",
    "cpu.used-meanwhile": lambda values: filled(
        f"meanwhile the process used {values['used']:.1f} of {{cores:count core}}[{{python_fed:if}}; Python code "
        "produces the data, one thread at a time]",
        values,
    ),
    "threads.in-storage": "threads were waiting for storage in {waiting} of {samples:count sample}",
    "machine.waits-for-io": "tasks of the machine waited for I/O {share:percent} of the time",
    "storage.read": "it read {bytes_per_s:size} a second from storage",
    "file.not-opened": "it is opening a file that nobody writes: a FIFO, or a file on a mount that does not answer",
    "pipeline.reads-at": "the pipeline reads at {where}",
    "data.only-file": "the only file of the dataset is {file}",
    "data.not-seen": "no dataset was seen from inside the process",
    "queue.producer": _producer,
    "pipe.own-writer": "the process that reads {pipe} has it open for writing too: it never sees its end",
    "queue.no-producer": lambda values: (
        ("no other process of the run and no" if values["between_processes"] else "no")
        + " other thread of the script is alive: nothing is left that could fill the queue"
    ),
    "epochs.first-step-slow": "the first step of each later epoch took {pause_s:duration}, any other {step_s:duration}",
    "pipeline.shuffle-refilled": "shuffle[ ({where})] holds {elements:count element} and is filled again in every "
    "epoch",
    # -- how much data there is ---------------------------------------------------------------------
    "loop.got-no-data": "the loop at {where} asked for data and got none, {passes:count time} or more",
    "fit.without-steps": "fit {fit} ended after 0 steps, {epochs:count epoch} begun",
    "validations.without-batches": "{count:count validation} ended after 0 batches, without a metric",
    "data.no-elements": "the {role} dataset has 0 elements, by its own count",
    "data.no-file-matched": "no file matched its pattern",
    "loop.validation-empty": "{passes:count pass/passes} or more at {where}, where nothing is trained, gave no batch",
    "loader.without-batches": lambda values: filled(
        "a loader[ ({where})] of {rows:count row}, which drops a batch of fewer than {batch}, has no batch"
        if values["batch"] and values["rows"]
        else "a loader[ ({where})] has no batch[: {rows:count row}]",
        values,
    ),
    "loader.dropped-rows": "{rows:list 8} records were read and dropped, with a batch of {batch}",
    "pipeline.drops-remainder": "batch[ ({where})] takes {batch} with drop_remainder=True out of {records:count "
    "record}",
    "pipeline.ignores-errors": "ignore_errors[ ({where})] silently drops every element that raises",
    "data.dropped": _dropped,
    # -- files --------------------------------------------------------------------------------------
    "file.damaged": "{path}: {what}[ at offset {offset:count}]",
    "file.named": "the file is {file}",
    "file.ends-early": "{path} has {bytes:size}: {missing}",
    "file.taken-for": lambda values: filled(
        f"it is taken for {'a checkpoint' if values['of_model'] else 'data'} by {{signs:list}}", values
    ),
    "array.reaches": "{name}, at hand when it was raised, goes from {low:number} to {high:number}",
    "file.unnamed": "TensorFlow does not name the file",
    "file.one-of": "one of {count:count file}: {files:list 3}; TensorFlow does not name it",
    "record.damaged-at-start": "an error at offset 0 means that the file has another format, or is compressed",
    # -- content ------------------------------------------------------------------------------------
    "pipeline.batched-at": "batched at {where}",
    "arrays.shapes-unknown": "the error does not name the shapes: the channels may differ too",
    "boxes.faulty": _faulty_boxes,
    "boxes.faulty-in-records": _boxes_in_records,
    "boxes.faulty-stored": _boxes_stored,
    "loss.grew-before-it-broke": "the loss grew over several steps before it broke, as with a learning rate that is "
    "too high",
    "loss.negative": "the loss is {loss:number} at step {step:count}; with targets between 0 and 1 it cannot be "
    "negative",
    "anchors.compared": "{share:percent} of {boxes:count box/boxes} overlap no [{fitted:if}fitted ]anchor by half "
    "at {input} px; half of these are smaller than {side:number} px there; most of all {classes:list 4}",
    "loss.part-without-rows": "{name} compares no row at all[ at {where}]: nothing is chosen for it",
    "loss.part-zero": "{zero:list} is exactly 0.0 in all {records:count} records, over {steps:count step}"
    "[; {other:list} is not]",
    "loss.course": "the loss went from {first:number} to {last:number}",
    "targets.range": "the targets reach[ from {low:number}] to {high:number}",
    "model.output-shape": "the model's output has shape {shape}",
    "model.does-not-scale": "the model has no layer that scales or normalises",
    "class-id.nan-on-gpu": "for such a class id a GPU returns NaN where the CPU raises",
    "index.beyond-the-end": lambda values: filled(
        f"the step at {{where}} looks up {'rows' if values['table'] else 'classes'} {{low:number}} to {{high:number}}, "
        "and those that there are end at {last:number}",
        {**values, "last": values["size"] - 1},
    ),
    "index.not-raised-by-jax": lambda values: (
        f"JAX raises nothing for an index beyond the end: {_NOT_RAISED[values['how']]}"
    ),
    "class-id.ignored-by-jax": "on JAX such a sample raises nothing: its loss is 0, and it is never trained",
    "data.not-finite": _data_not_finite,
    "batch.not-finite": _batch_not_finite,
    "data.stored-finite": "what is stored is finite, in {names:list}[; not finite are the columns {columns:list}]",
    "arrays.not-finite": "the array {names:list} given to fit has values that are not finite",
    "inputs.range": _input_range,
}

REMEDIES: dict[str, Advice] = {
    # -- waiting for data ---------------------------------------------------------------------------
    "pipeline.parallel-and-prefetch": Advice(
        "load in parallel, and prefetch two batches",
        "ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(8).prefetch(2)",
    ),
    "pipeline.out-of-python": Advice(
        "do the work in TensorFlow operations, or in processes: Python runs one thread at a time",
        "keras.utils.PyDataset(workers=4, use_multiprocessing=True)",
    ),
    "pipeline.do-once": Advice(
        "do once what is the same in every epoch: resize the files, or cache before the random part"
    ),
    "data.copy-to-local-disk": Advice("copy the data to a local disk before training"),
    "data.fewer-larger-files": Advice(
        "read fewer, larger files: TFRecord shards instead of single images",
        "holdfast data convert DATA --to tfrecord",
    ),
    "queue.get-with-timeout": Advice(
        "give the get a timeout, so that it raises", "item = queue.get(timeout=60)   # raises queue.Empty"
    ),
    "queue.end-mark": Advice(
        "let the producer end the queue: put an end mark last, in a `finally`, and stop at it",
        "finally: queue.put(None)",
    ),
    "pipe.close-own-end": Advice(
        "open {pipe} only for reading, and close the end for writing in the process that reads",
        'open(path, "rb")   # not os.O_RDWR; of multiprocessing.Pipe: writer.close() after start()',
    ),
    "program.run-with-timeout": Advice(
        "give the program a timeout, so that it raises", "subprocess.run([…], timeout=60, check=True)"
    ),
    "read.with-timeout": Advice("give reads a timeout, so that they raise", "socket.setdefaulttimeout(30)"),
    "read.check-the-file": Advice(
        "check whether the file is a FIFO, or on a mount that does not answer: `ls -l`, `stat`, `mount`"
    ),
    "shuffle.names": Advice(
        "shuffle file names, before the expensive part, so that the buffer fills at once",
        "files.shuffle(len(files)).map(load)",
    ),
    "pipeline.repeat-before-batch": Advice(
        "let epochs run into one another: repeat before batching, with steps_per_epoch"
    ),
    # -- how much data there is ---------------------------------------------------------------------
    "data.refuse-empty": Advice(
        "check the path and the pattern, and refuse to start without data",
        'assert files, "no file matches " + pattern',
    ),
    "data.check-path": Advice("check the data before training: `holdfast check PATH`"),
    "data.check-the-split": Advice(
        "check how the data is split: `skip`, `take` and a split of 0 leave nothing"
    ),
    "loader.keep-last": Advice(
        "keep the incomplete batch, or use a smaller one; fewer workers have more records each",
        "DataLoader(ds, batch_size={records}, drop_last=False)",
    ),
    "pipeline.keep-remainder": Advice(
        "keep the incomplete batch of the validation", "val_ds = val_ds.batch({batch}, drop_remainder=False)"
    ),
    "batch.shrink-to-dataset": Advice(
        "use a smaller batch, or keep the incomplete one", "ds = ds.batch({records})"
    ),
    "pipeline.repeat-first": Advice(
        "repeat before batching", "ds = ds.repeat().batch({batch}, drop_remainder=True)"
    ),
    "data.repair": Advice(
        "find and repair the corrupt files instead of ignoring errors: `holdfast check DATA`"
    ),
    "pipeline.log-errors": Advice("log what is dropped", "ds = ds.ignore_errors(log_warning=True)"),
    # -- files --------------------------------------------------------------------------------------
    "record.write-again": Advice(
        "write or copy the file again, and close the writer: use it in a `with` block",
        "with tf.io.TFRecordWriter(path) as writer:\n    writer.write(example)",
    ),
    "record.check": Advice("`holdfast check DATA` reads every record and names file and offset"),
    "image.replace": Advice("replace or remove {file}"),
    "image.find": Advice("find it: `holdfast check DATA` decodes every image and names the corrupt ones"),
    "image.leave-out": Advice(
        "leave corrupt files out of the list of files; ignore_errors() hides them and drops good data too"
    ),
    "image.decode-three-channels": Advice(
        "decode every image to three channels, whatever the file has",
        "image = tf.io.decode_image(data, channels=3, expand_animations=False)",
    ),
    "image.check-modes": Advice("find the files: `holdfast check DATA` lists images of unsupported mode"),
    # -- content ------------------------------------------------------------------------------------
    "images.resize-before-batching": Advice(
        lambda values: (
            f"resize every image to one size{'' if values['shapes_known'] else ' and one number of channels'} "
            "before batching"
        ),
        "image = tf.image.resize_with_pad(image, 512, 512)",
    ),
    "boxes.pad-batch": Advice("pad the boxes of a batch to the same number", "ds = ds.padded_batch(8)"),
    "boxes.find": Advice(
        "find them: `holdfast check DATA` names the image of every inverted, empty or outside box"
    ),
    "boxes.clip-and-drop": Advice(
        "clip boxes, and drop empty ones, when reading", "keep = (x2 > x1) & (y2 > y1)"
    ),
    "boxes.check-scale": Advice(
        "check that boxes are scaled with the image, and in the coordinates that the matcher expects"
    ),
    "anchors.larger-input": Advice(
        "train at a larger input, or on parts of the images; `holdfast check RECIPE` says what helps",
        "holdfast train RECIPE --set model.input={input}",
    ),
    "anchors.fit-to-data": Advice(
        "use anchors fitted to the boxes", "holdfast train RECIPE --set model.anchors=fitted"
    ),
    "anchors.fit": Advice(
        "use anchors of the sizes that objects have in the resized image; `holdfast check` lists boxes that no anchor "
        "covers"
    ),
    "class-ids.table": Advice(
        lambda values: (
            "make the table as large as the highest id plus one"
            + ("; an id for padding at 0 moves all others up by one" if values["off_by_one"] else "")
        )
    ),
    "class-ids.map": Advice(
        lambda values: (
            "map the ids of the data to 0 "
            + (f"… {values['last']}" if values["last"] is not None else "and up")
            + ", or give the model more outputs"
            + ("; class ids begin at 0" if values["off_by_one"] else "")
        )
    ),
    "class-ids.check": Advice("find the records: `holdfast check DATA` lists unknown classes and gaps"),
    "loss.one-output-a-class": Advice(
        "for several classes: one output each, and a loss for class ids",
        'keras.layers.Dense(classes, activation="softmax")\nmodel.compile(…, "sparse_categorical_crossentropy")',
    ),
    "targets.zero-and-one": Advice("for two classes: targets of 0 and 1", "y = (y > 0).astype('float32')"),
    "data.check-numerics": Advice(
        "stop at the first bad element, which names it",
        'ds = ds.map(lambda x, y: (tf.debugging.check_numerics(x, "x"), y))',
    ),
    "data.replace-non-finite": Advice(
        "replace values that are not finite, if that is right for your data", "x = np.nan_to_num(x)"
    ),
    "model.scale-inputs": Advice(
        "scale in the model, where it cannot be forgotten",
        lambda values: (
            "keras.layers.Rescaling(1 / 255)"
            if values["pixels"]
            else "keras.layers.Normalization()   # and adapt(x)"
        ),
    ),
    "model.use-its-preprocessing": Advice("with pretrained weights, use their own preprocess_input"),
    "sample.remove-or-repair": Advice("check that sample, and remove or repair it"),
    "inputs.clip": Advice(
        "clip the inputs, and the gradients",
        "x = np.clip(x, -10, 10); optimizer = keras.optimizers.SGD(1e-2, clipnorm=1.0)",
    ),
}

RULED_OUT: dict[str, Text] = {
    "input-starved.small-share": "{share:percent} of the time was spent waiting for data",
    "input-starved.few-steps": "it waited {seconds:duration} for data, but not at most steps",
}

"""Sentences of causes in the memory of the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording import shared_wording
from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text, clipped, filled, listed
from holdfast.units import size

#: Why a function is traced again, by what differs between its signatures.
_RETRACED: dict[str, str] = {
    "new-shape": "for every new shape",
    "python-value": "for every new Python value",
    "new-object": "for every new object",
}
#: Bytes a step that are worth printing: less is lost in rounding.
_FEW_BYTES = 1024
_SIGNATURE_LENGTH = 60
_TRACED = "{function}[ ({where})] was traced {traces:count time} in {calls:count call}"


def _killed(values: Mapping[str, Any]) -> str:
    """Pages of libraries that others share count for the process, not for its group: then only the limit is shown."""
    peak, limit = values["peak_bytes"], values["limit_bytes"]
    if limit is not None and peak > limit:
        return filled("the kernel killed the process at its memory limit of {limit_bytes:size}", values)
    used = filled(" at {peak_bytes:size}[ of {limit_bytes:size} allowed]", values) if peak else ""
    return f"the kernel killed the process for memory{used}"


def _leak(values: Mapping[str, Any]) -> str:
    each = filled("{bytes:size} a step", values) if values["bytes"] > _FEW_BYTES else "more at every step"
    return f"{values['name']} keeps {each}" if values["name"] else f"something keeps {each}, without end"


def _retraced(values: Mapping[str, Any]) -> str:
    why = _RETRACED.get(values["reason"], "at nearly every call")
    text = "{function}[ ({where})] is traced again " + why
    return filled(text + ": {traces:count time} in {calls:count call}", values)


def _traced(values: Mapping[str, Any]) -> str:
    signatures = [clipped(one, _SIGNATURE_LENGTH) for one in values["signatures"]]
    last = f"; the last signatures: {listed(signatures)}" if signatures else ""
    return filled(_TRACED, values) + last


def _oom_kills(values: Mapping[str, Any]) -> str:
    counter, kills = "the kernel's out-of-memory kill counter", values["kills"]
    if kills is None:
        return f"{counter} could not be read"
    return f"{counter} rose by {kills}" if kills else f"{counter} did not move"


def _buffer(values: Mapping[str, Any]) -> str:
    things = "batches" if values["op"] == "prefetch" else "elements"
    kept = (
        "{elements:count} " + things + "[ of {element_bytes:size}]" if values["elements"] else "every element"
    )
    return filled("{op}[ ({where})] keeps " + kept + " in memory[, {full_bytes:size} when full]", values)


def _cache_first(values: Mapping[str, Any]) -> str:
    names = [name if name.isidentifier() else "prepare" for name in values["functions"]]
    shuffled = f".shuffle({values['buffer']})" if values["buffer"] else ""
    return f"ds = ds{''.join(f'.map({name})' for name in names)}.cache(){shuffled}.repeat()"


def _batches(values: Mapping[str, Any]) -> str:
    each = [
        f"batch({number})" + (f" ({where})" if where else "")
        for number, where in zip(values["sizes"], values["where"], strict=True)
    ]
    return f"batch is applied {len(each)} times: {', '.join(each)}"


TITLES: dict[str, Text] = {
    "killed-for-memory": _killed,
    "killed-for-memory.all": "all processes ended at once when the control group's memory"
    "[ of {limit_bytes:size}] was full",
    "killed-for-memory.worker": "the kernel killed a child process of the training for memory"
    "[{stalled:if}; the main process was left waiting]",
    "killed-from-outside": "the process was killed from outside: by a person, a scheduler or an eviction",
    "killed-from-outside.training-left": "the command was killed from outside, and the training that it started is "
    "still running: process {pid}[ ({command})]",
    "killed-from-outside.cpu-time": "it used up its CPU time (ulimit -t)",
    "killed-from-outside.warned": "it was sent {signal}, as schedulers do before the time of a job is over, and does "
    "not handle it",
    "memory-refused": "a request for host memory[ for a tensor of shape {shape}][ of {bytes:size}]"
    "[ for an array of {array} {dtype}] was refused",
    "memory-refused.without-words": "memory was refused under a limit of {limit_bytes:size}, and the process ended "
    "with {signal}",
    "shuffle-buffer-too-large": lambda values: filled(
        "the shuffle buffer[ of {elements:count element}]"
        + (
            " needs {full_bytes:size} and does not fit"
            if values["full_bytes"]
            else " does not fit into memory"
        ),
        values,
    ),
    "cache-too-large": "the in-memory cache of the dataset outgrows memory[: {full_bytes:size} when full]",
    "cache-too-large.endless": lambda values: (
        "cache() comes after an endless repeat(): it is never full, and keeps every repeated element"
        if values["repeats"]
        else "cache() comes after data without end: it is never full, and keeps every element"
    ),
    "prefetch-too-deep": lambda values: filled(
        "a queue of {batches:count} batches"
        + (" needs {full_bytes:size}" if values["full_bytes"] else " is too deep for memory"),
        values,
    ),
    "prefetch-too-deep.queue": lambda values: filled(
        "the queue {name} "
        + (
            "may hold {limit:count entry/entries}[, {full_bytes:size} when full], more than fits"
            if values["limit"]
            else "is filled faster than it is emptied, and has no limit"
        ),
        values,
    ),
    "cache-too-large.container": "{name} may hold {limit:count entry/entries}[, {full_bytes:size} when full], "
    "more than fits",
    "batched-twice": lambda values: (
        f"the dataset is batched {len(values['sizes'])} times: a step gets "
        f"{' x '.join(str(number) for number in values['sizes'])} samples"
    ),
    "array-copied": "fit copied arrays of {bytes:size}, and the copy did not fit",
    "memory-leak": _leak,
    "retracing": _retraced,
    "retracing.warned": "TensorFlow warned that a function is traced again and again",
    "model-rebuilt": "each new model or fit leaves the one before in memory",
    "evaluation-accumulates": "{name:or something} collects results during validation, until memory is full",
    "worker-memory-grows": "the loader's processes grow until memory is full; the main process does not",
    "worker-memory-grows.one": "one child process grew by {bytes:size}",
    "swapping": "the training runs from swap: steps wait for memory to be read back from disk",
}

FACTS: dict[str, Text] = {
    # -- the end ------------------------------------------------------------------------------------
    "memory.oom-kills": _oom_kills,
    "kernel.logged": "kernel log: {line:clip 120}",
    "process.left-running": "its child process {pid}[ ({command})] is still running",
    "limit.cpu-time": "it used {used_s:seconds} of CPU time, and the limit is {limit_s:seconds}",
    "limit.memory": "{name} is {limit_bytes:size}",
    "memory.address-space": "it used {used_bytes:size} of address space when last measured",
    "memory.did-not-run-out": "memory did not run out",
    "crash.in-operation": "it crashed inside a TensorFlow operation[, called at {where}]",
    "output.names-no-memory": "nothing was printed that names memory",
    "output.quoted": "{text:clip 100}",
    # -- how memory grew ----------------------------------------------------------------------------
    "memory.batch-a-step": "that is about one batch a step: a batch has {batch_bytes:size}",
    "memory.not-a-batch-a-step": "memory rose by {bytes:size} a step; a batch has {batch_bytes:size}",
    "memory.grew-in-training": "at training steps it rose by {bytes:size} only",
    "memory.grew-by-fit": lambda values: (
        f"memory at the end of each fit rose by {listed([size(gain) for gain in values['bytes']])}"
    ),
    "workers.grew": "{processes:count child process/child processes} grew by {bytes:size} of private memory, the main "
    "process by {parent_bytes:size}",
    "workers.next-grew": "the next one grew by {bytes:size} only, with the same work to do",
    "object.grew": "{name}[ ({where})][, a {type},] grew by {bytes:size}[, to {length:count entry/entries}]",
    "swap.faults": "{faults_per_s:count} major page faults a second: memory is read back from disk"
    "[, {bytes_per_s:size} a second from swap]",
    "swap.used": "{bytes:size} of the process were in swap",
    # -- what holds memory --------------------------------------------------------------------------
    "pipeline.buffer": _buffer,
    "pipeline.endless-before-cache": lambda values: (
        f"the pipeline is {' -> '.join([*values['ops'], 'cache'])}: what comes to the cache has no end"
    ),
    "pipeline.buffer-below-growth": "full, it holds {full_bytes:size}; memory rose by {grown_bytes:size}",
    "pipeline.fills-in-first-epoch": "the pipeline has a {op} node, which fills in the first epoch too",
    "pipeline.batches": _batches,
    "pipeline.rank": "an element has {rank} dimensions[, the model takes {model_rank}]",
    "pipeline.rank-of-validation": "an element of training has {rank} dimensions, one of validation {validation_rank}",
    "queue.full-long-ago": "{steps:count step/steps} were done; the queue is full after {batches:count}",
    "fit.given-arrays": "fit[ ({where})] was given arrays of {bytes:size}; it copies them into tensors when it begins",
    "fits.counted": "{fits:count fit} of {models:count model} in one process",
    "models.alive": "{models} models are alive at once",
    "function.traced": _traced,
    "tensorflow.warned-of-retracing": "TensorFlow warned of retracing; it does not repeat that warning",
}

REMEDIES: dict[str, Advice] = {
    "memory.more-or-need-less": Advice(
        "give the run more memory, or make it need less: a smaller batch, smaller images, a shallower prefetch, "
        "fewer loader processes"
    ),
    "report.open": Advice("see what grew and since when in the report: `holdfast report RUN`"),
    "signal.find-the-sender": Advice(
        "find out who sent it, from the scheduler, the orchestrator or the machine's other users: "
        "`kubectl describe pod`, `sacct -j JOB`, `journalctl -k`"
    ),
    "run.let-it-restart": Advice("let Holdfast restart it: `holdfast run --restarts 3 -- …`"),
    "wrapper.exec": Advice("let the training replace its wrapper: use `exec`", 'exec python train.py "$@"'),
    "process.end-what-is-left": Advice(
        "nothing supervises the process that is still running: let it finish, or end it by its pid"
    ),
    "limit.raise-cpu-time": Advice("ask for more time, or raise the limit: `ulimit -t unlimited`"),
    "checkpoint.save-often": Advice(
        "save as it trains, and start the same command again",
        'keras.callbacks.BackupAndRestore("backup", save_freq=500, double_checkpoint=True)',
    ),
    "signal.handle": Advice(
        "save and stop when the signal comes",
        "signal.signal(signal.{signal}, lambda *_: setattr(model, 'stop_training', True))",
    ),
    "batch.shrink": Advice("a smaller batch or smaller images: the refused tensor shrinks with both"),
    "limit.raise-address-space": Advice(
        "raise the limit, if it was set for something else: `ulimit -v unlimited`"
    ),
    "array.use-float32": Advice("float32 takes half of it", 'array.astype("float32")'),
    "array.read-in-parts": Advice("do not load all of it at once", 'np.load(path, mmap_mode="r")'),
    "array.feed-in-parts": Advice(
        "feed from files or in parts: a tf.data.Dataset, a PyDataset or a memory map",
        "class Parts(keras.utils.PyDataset):\n    def __len__(self): return len(x) // 32\n"
        "    def __getitem__(self, i): return x[32*i:32*i+32], y[32*i:32*i+32]",
    ),
    "array.use-uint8": Advice("keep the arrays in a smaller type, such as uint8, and convert in the model"),
    "shuffle.before-decoding": Advice(
        "shuffle file names or encoded bytes, before decoding: as random, and it takes next to no memory",
        "ds = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files)).map(decode)",
    ),
    "shuffle.smaller-buffer": Advice(
        "a smaller buffer where decoded images must be shuffled", "ds = ds.shuffle(256)"
    ),
    "cache.encoded": Advice(
        "cache the encoded bytes, before decoding, or do not cache",
        "ds = files.map(tf.io.read_file).cache().map(decode)",
    ),
    "cache.on-disk": Advice("cache to a file on a fast disk", 'ds = ds.cache("/fast-disk/train.cache")'),
    "prefetch.two-batches": Advice("prefetch two batches: that is enough", "ds = ds.batch(8).prefetch(2)"),
    "queue.smaller": Advice("let {name} hold a few batches: that is enough", "queue.Queue(maxsize=8)"),
    "cache.before-repeat": Advice(
        "put cache() before shuffle() and repeat(): it is full after one pass over the data", _cache_first
    ),
    "cache.finite-part": Advice(
        "cache a part that ends, and repeat behind it; or do not cache",
        "ds = ds.take(10_000).cache().repeat()",
    ),
    "cache.fewer-entries": Advice(
        "let {name} hold fewer or smaller entries: whole numbers as uint8, or on disk (np.memmap)"
    ),
    "pipeline.batch-once": Advice("batch once", "ds = ds.batch({size})   # and no other"),
    "object.bound": Advice(
        "empty {name}, bound it, or keep numbers in it instead of tensors",
        "history.append(float(loss))   # not the tensor",
    ),
    "object.find-what-grows": Advice(
        "look for a list, a dict or a metric that keeps tensors or arrays; keep numbers instead",
        "history.append(float(loss))   # not the tensor",
    ),
    "memory.other-allocator": Advice(
        "if no Python object grows, try another allocator: MALLOC_ARENA_MAX=2, or tcmalloc by LD_PRELOAD"
    ),
    "function.relax-shapes": Advice(
        "declare which dimensions vary, or pad to a few sizes",
        "@tf.function(reduce_retracing=True)\n"
        "# or input_signature=[tf.TensorSpec([None, None, None, 3], tf.float32)]",
    ),
    "function.pass-tensors": Advice("pass numbers as tensors", "step(x, tf.constant(learning_rate))"),
    "function.make-once": Advice("make the function once, outside the loop"),
    "function.trace-once": Advice(
        "make the function once, pass tensors instead of Python numbers, keep shapes fixed",
        "@tf.function(reduce_retracing=True)",
    ),
    "model.clear-session": Advice(
        "drop the old model before the next, or use a process for each",
        "del model\nkeras.backend.clear_session()\ngc.collect()",
    ),
    "model.call-directly": Advice("for single predictions call the model itself", "model(x, training=False)"),
    "evaluation.keep-numbers": Advice(
        "keep the few numbers that the metric needs, or write results to disk batch by batch",
        lambda values: 'np.save(folder / f"{batch}.npy", boxes)',
    ),
    "workers.share-arrays": Advice(
        "keep what all workers read in one NumPy array or file, not in Python lists and dicts",
        "names = np.array(names)   # reading a Python list copies its pages in every forked worker",
    ),
    "workers.fewer": Advice("fewer workers, or threads: workers=1, use_multiprocessing=False"),
    "worker.look-at-its-input": Advice(
        "look at what that one was given: a sample far larger than the others"
    ),
    "data.check": Advice("find outliers before training: `holdfast check DATA` names images far out of line"),
}

RULED_OUT: dict[str, Text] = {
    "killed-for-memory.not-counted": "the kernel's out-of-memory kill counter did not move",
    "memory-leak.not-at-steps": lambda values: f"{shared_wording.grew(values)}, and not at the steps",
    "memory-leak.bounded": "{name} may hold {limit:count entry/entries} and no more",
    "memory-leak.stopped-growing": "memory stopped rising, and a leak does not",
    "shuffle-buffer-too-large.not-while-filling": "memory did not rise before the first step, when the buffer fills",
    "cache-too-large.grows-in-later-epochs": "memory kept rising in later epochs, when a cache is full already",
    "prefetch-too-deep.small": "the queue holds {full_bytes:size} when full, a small part of the limit",
    "retracing.few": _TRACED,
}

"""The phase that a process is in, by the stacks of its threads alone: for a process without a probe. Pure.

The innermost frame that says something decides: a checkpoint that a callback saves is a save. Where TensorFlow fetches
the next batch inside the compiled step, the main thread's stack is the same for both, and the threads that feed the
pipeline decide.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import NamedTuple

from holdfast.journal.beats import Phase
from holdfast.journal.stack_files import Frame, Thread
from holdfast.user_code import is_user_file


class Doing(enum.StrEnum):
    """What the process does, in words for a person."""

    IMPORTING = "importing modules"
    COMPILING = "tracing or compiling the model"
    DOWNLOADING = "downloading"
    INPUT = "waiting for the next batch"
    STEP = "in a training step"
    VALIDATION = "validating"
    PREDICTING = "predicting"
    CALLBACK = "in a callback"
    SAVING = "saving a checkpoint"
    JOINING = "waiting for the other processes of its group"
    EXITING = "at the end of the interpreter"
    OWN_CODE = "in the script's own code"
    UNKNOWN = "unknown"


class StackPhase(NamedTuple):
    doing: Doing = Doing.UNKNOWN
    phase: Phase | None = None
    frame: Frame | None = None  # the one that says so


_PHASES = {
    Doing.IMPORTING: Phase.IMPORT,
    Doing.COMPILING: Phase.COMPILE,
    Doing.INPUT: Phase.DATA_WAIT,
    Doing.STEP: Phase.STEP,
    Doing.VALIDATION: Phase.VALIDATION,
    Doing.PREDICTING: Phase.PREDICT,
    Doing.CALLBACK: Phase.CALLBACK,
    Doing.SAVING: Phase.SAVE,
    Doing.EXITING: Phase.EXIT,
}

#: Functions that are on the stack while a graph is traced or compiled, and not while it runs.
COMPILERS = (
    (
        "tensorflow/python/eager/polymorphic_function/",
        ("trace_function", "_maybe_define_function", "_initialize"),
    ),
    ("tensorflow/python/framework/func_graph.py", ("func_graph_from_py_func",)),
    ("tensorflow/python/autograph/impl/api.py", ("converted_call",)),
    ("jax/_src/interpreters/partial_eval.py", ("trace_to_jaxpr", "_trace_to_jaxpr")),
    ("jax/_src/compiler.py", ("backend_compile", "compile_or_get_cached", "_compile_and_write")),
    ("jax/_src/interpreters/pxla.py", ("lower_sharding_computation", "_cached_lowering_to_hlo", "compile")),
    ("jax/_src/interpreters/mlir.py", ("lower_jaxpr_to_module",)),
    ("torch/_dynamo/", ("compile", "_compile", "transform")),
    ("torch/_inductor/", ("compile",)),
)

_TRAINERS = r"keras/(src/)?(backend|engine|trainers)/"
#: (what it does, the file, the function), both searched for; the first that fits a frame counts.
_MARKS = tuple(
    (doing, re.compile(file), re.compile(function))
    for doing, file, function in (
        (
            Doing.SAVING,
            r"keras/src/saving/|keras/saving/|keras/src/callbacks/(model_checkpoint|backup_and_restore)|"
            r"tensorflow/python/(checkpoint|training|saved_model)/|orbax/checkpoint|torch/serialization\.py|"
            r"torch/distributed/checkpoint|safetensors/|flax/training/checkpoints",
            r"^_?(save|write|export|commit)|_save|\.save",
        ),
        (
            Doing.DOWNLOADING,
            r"",
            r"(^|\.)(get_file|urlretrieve|urlopen|hf_hub_download|snapshot_download|http_get|_download_\w*|"
            r"download(_\w+)?)$",
        ),
        (
            Doing.JOINING,
            r"collective_all_reduce_strategy|multi_worker|jax/_src/distributed\.py|torch/distributed/|horovod",
            r"barrier|init_process_group|initialize|rendezvous|_init_|connect|all_reduce|all_gather|broadcast",
        ),
        (
            Doing.INPUT,
            r"tensorflow/python/data/ops/iterator_ops\.py|torch/utils/data/dataloader\.py|"
            r"keras/src/trainers/data_adapters/|keras/src/utils/data_utils|grain/",
            r"__next__|_next_internal|next|_next_data|_get_data|_try_get_data|get\b|_get_iterator|enumerate_epoch",
        ),
        (Doing.CALLBACK, r"keras/src/callbacks/callback_list\.py|keras/callbacks\.py", r"on_\w+|_call"),
        (Doing.CALLBACK, r"(pytorch_)?lightning/.*call\.py|transformers/trainer_callback\.py", r"callback|call_event"),
        (Doing.VALIDATION, _TRAINERS, r"(^|\.)(evaluate|test_step|test_function)$"),
        (Doing.PREDICTING, _TRAINERS, r"(^|\.)(predict|predict_step)$"),
        (Doing.STEP, _TRAINERS, r"(^|\.)(fit|train_on_batch|train_step)$"),
        (Doing.STEP, r"torch/(autograd|optim)/|torch/_tensor\.py", r"backward|_engine_run_backward|(^|\.)step$"),
    )
)  # fmt: skip
#: Outermost in the main thread while a script runs. At the end of the interpreter nothing of the script is below.
_SCRIPT_BOTTOM = re.compile(r"<module>$|^_run_module_as_main$|^_run_code$|^<shim>$")
#: Frames of a framework that ask the user's code for data.
_FEEDS = re.compile(
    r"script_ops\.py|from_generator|py_dataset_adapter|generator_data_adapter|data_adapters/|utils/data/_utils/"
)
_IN_STEP = (Doing.STEP, Doing.VALIDATION, Doing.PREDICTING)


def read_phase(threads: Sequence[Thread], *, from_python: bool) -> StackPhase:
    """Of the process with these threads. `from_python`: its Python frames could be read at all."""
    main = next((thread for thread in threads if thread.main), None)
    if not from_python or main is None:
        return StackPhase()
    if _at_exit(main, threads):
        return _named(Doing.EXITING, main.frames[0] if main.frames else None)
    found = _of_frames(main.frames)
    if found.doing in _IN_STEP and (feeding := _feeding(threads)) is not None:
        return _named(Doing.INPUT, feeding)
    return found


def _at_exit(main: Thread, threads: Sequence[Thread]) -> bool:
    """The script's frames are gone: threads are joined, exit handlers run, or native code is being torn down.

    A program that embeds Python runs the script in another thread.
    """
    if main.frames:
        return not _runs_script(main)
    return not any(_runs_script(thread) for thread in threads)


def _runs_script(thread: Thread) -> bool:
    return bool(thread.frames) and _SCRIPT_BOTTOM.search(thread.frames[-1].function) is not None


def _of_frames(frames: Sequence[Frame]) -> StackPhase:
    """Innermost first."""
    own: Frame | None = None
    for frame in frames:
        function = frame.function.rpartition(".")[2]
        if any(path in frame.file and function.startswith(names) for path, names in COMPILERS):
            return _named(Doing.COMPILING, frame)
        if own is None and "importlib._bootstrap" in frame.file:
            return _named(Doing.IMPORTING, frame)
        if is_user_file(frame.file):  # its own functions may have any name
            own = own or frame
            continue
        for doing, file, name in _MARKS:
            if file.search(frame.file) and name.search(frame.function):
                return _named(doing, frame)
    return _named(Doing.OWN_CODE, own) if own is not None else StackPhase()


def _feeding(threads: Sequence[Thread]) -> Frame | None:
    """The user's line in a thread that feeds the pipeline and waits: the step waits for its batch."""
    for thread in threads:
        if (
            thread.main
            or thread.state == "R"
            or not any(_FEEDS.search(frame.file) for frame in thread.frames)
        ):
            continue
        own = next((frame for frame in thread.frames if is_user_file(frame.file)), None)
        if own is not None:
            return own
    return None


def _named(doing: Doing, frame: Frame | None) -> StackPhase:
    return StackPhase(doing, _PHASES.get(doing), frame)

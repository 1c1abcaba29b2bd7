"""What the parts of the probe share in one process: the journal, the heartbeat, and each part's state.

A part finds another one only here, through a typed field. What a part does runs inside `guard`: a part that fails
is switched off, and the training does not notice.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...atomic_write import make_private_folder
from ...journal.beats import BeatReader, BeatWriter, Phase
from ...journal.events import Event, ExitStarted, ProbeFailed, ProcessJoined
from ...journal.folder import RunFolder
from ...journal.writer import JournalWriter
from ...typing_names import Protocol
from . import fault_dumps
from .background_thread import BackgroundThread
from .heartbeat import Heartbeat

if TYPE_CHECKING:
    from ..fit.model_saving import SaveLog
    from ..inputs.input_observer import InputObserver
    from ..learning.deep_look import DeepLook
    from ..learning.learning_observer import LearningObserver
    from ..learning.weight_motion import WeightMotion
    from ..loop_data.eager_operations import EagerOperations
    from ..loop_data.gpu_losses import GpuLosses
    from ..loop_data.half_range import HalfRange
    from ..loop_data.loop_model import LoopModel
    from ..loop_data.loss_metrics import LossMetrics
    from ..loop_data.loss_scaler import LossScaler
    from ..loop_data.loss_terms import LossTerms
    from ..loop_data.normalisation import Averages
    from ..loop_data.step_arguments import StepArguments
    from ..loop_data.torch_layers import TorchLayers
    from ..loop_data.unmoved_averages import UnmovedAverages
    from ..loop_data.update_counts import UpdateCounts
    from ..loops.custom_loop import CustomLoop
    from ..loops.data_end import DataEnd
    from ..loops.function_traces import TraceCounter
    from ..loops.hand_updates import HandUpdates
    from ..loops.loss_calls import LossCalls
    from ..loops.session_hooks import SessionSteps
    from ..loops.torch_gradients import TorchGradients
    from ..loops.unapplied_gradients import UnappliedGradients
    from ..memory_use.memory_observer import MemoryUseObserver
    from ..process.exceptions import ExceptionLog
    from ..process.framework_versions import FrameworkLog
    from ..process.framework_warnings import FrameworkWarnings
    from ..process.same_point import SamePointWatch
    from ..process.worker_processes import WorkerLog
    from ..state.fit_log import ActiveFits
    from ..state.loop_source import OpenLoopLog
    from ..state.loss_watch import Losses
    from ..state.model_facts import ModelLog
    from ..state.observed_data import ObservedData
    from ..state.skipped_loops import SkippedLoops

Result = TypeVar("Result")

PART_EXIT = "exit"
PART_BACKGROUND = "background_thread"

#: A ring of beats whose owner is in one of these phases may be taken over by another process that trains.
_IDLE = frozenset({Phase.START, Phase.IMPORT, Phase.BUILD, Phase.AFTER, Phase.EXIT})


class PartState(Protocol):
    def new_run(self) -> None:
        """Another run begins in this process: what was recorded is recorded again."""


class ProbeContext:
    """Made by `parts.create_context`, which gives it the state of every part."""

    # what is known of the training
    fits: ActiveFits
    losses: Losses
    models: ModelLog
    data: ObservedData
    open_loops: OpenLoopLog
    skipped_loops: SkippedLoops
    # what observes it
    saves: SaveLog
    loop: CustomLoop
    traces: TraceCounter
    sessions: SessionSteps
    gradients: UnappliedGradients
    torch_gradients: TorchGradients
    gpu_losses: GpuLosses
    loss_scaler: LossScaler
    half_range: HalfRange
    loss_calls: LossCalls
    loss_terms: LossTerms
    loss_metrics: LossMetrics
    step_arguments: StepArguments
    eager_operations: EagerOperations
    torch_layers: TorchLayers
    update_counts: UpdateCounts
    loop_model: LoopModel
    averages: Averages
    unmoved_averages: UnmovedAverages
    data_end: DataEnd
    hand_updates: HandUpdates
    inputs: InputObserver
    learning: LearningObserver
    memory: MemoryUseObserver
    motion: WeightMotion
    deep_look: DeepLook
    exceptions: ExceptionLog
    frameworks: FrameworkLog
    warnings: FrameworkWarnings
    workers: WorkerLog
    same_point: SamePointWatch

    def __init__(self, run_dir: str, *, attempt: int, role: str) -> None:
        self.role = role
        self.forked = False
        self.heartbeat = Heartbeat()
        self.background = BackgroundThread(self)
        self.fault_dumps = fault_dumps.FaultDumps()
        self.failed_parts: set[str] = set()
        self.at_exit: list[Callable[[], None]] = []
        self._beats: BeatWriter | None = None
        self._exiting = False
        self._open(run_dir, attempt)

    def _open(self, run_dir: str, attempt: int) -> None:
        self.folder = RunFolder(Path(run_dir))
        make_private_folder(self.folder.path)
        self.attempt = attempt
        self.started = time.monotonic()
        self.closed = False
        self._journal = JournalWriter(self.folder.journal, by="probe", attempt=attempt)

    # -- runs -----------------------------------------------------------------------------------------

    def join(self) -> None:
        if self.role == "child" and not self.folder.beats.exists():
            self.role = "main"  # the Python above only launched this one
        self._record_joined()
        if self.role == "main":
            self.open_heartbeat()
        self.guard(fault_dumps.PART, self.fault_dumps.open, self.folder)
        self.guard(fault_dumps.PART, fault_dumps.watch, self.fault_dumps)
        self.guard(PART_EXIT, self._watch_exit)
        os.register_at_fork(
            before=self._before_fork, after_in_child=self._after_fork, after_in_parent=self._after_fork_above
        )

    def _record_joined(self) -> None:
        self.record(
            ProcessJoined(
                python=sys.version.split()[0],
                executable=sys.executable,
                argv=list(getattr(sys, "argv", []))[:40],
                script=_script(),
                role="main" if self.role == "main" else "worker",
            )
        )

    def reopen(self, run_dir: str, *, attempt: int) -> None:
        """Another run in the same process, as in a notebook: the hooks stay, and everything is recorded again."""
        self._open(run_dir, attempt)
        self._beats = None
        self.heartbeat.reset()
        for state in self._states():
            state.new_run()
        self._record_joined()
        self.open_heartbeat()
        self.heartbeat.set_phase(Phase.BUILD)
        self.guard(fault_dumps.PART, self.fault_dumps.open, self.folder)

    def _states(self) -> tuple[PartState, ...]:
        return (
            self.fits, self.losses, self.models, self.data, self.open_loops, self.skipped_loops, self.saves, self.loop,
            self.traces, self.gradients, self.torch_gradients, self.gpu_losses, self.loss_scaler, self.half_range,
            self.unmoved_averages, self.loss_calls, self.loss_terms,
            self.loss_metrics,
            self.step_arguments,
            self.eager_operations, self.torch_layers, self.loop_model, self.data_end, self.hand_updates,
            self.inputs, self.learning, self.memory, self.motion, self.deep_look, self.exceptions, self.frameworks,
            self.warnings, self.workers, self.same_point,
        )  # fmt: skip

    def close(self) -> None:
        self.guard(PART_EXIT, self.fits.flush)
        self.closed = True
        self.heartbeat.writer = None

    # -- heartbeats -----------------------------------------------------------------------------------

    def open_heartbeat(self) -> bool:
        """Beats are written from now on, unless another process that lives is training into the same ring."""
        newest = BeatReader(self.folder.beats).newest()
        if newest is not None and newest.pid != os.getpid() and newest.attempt == self.attempt:
            if newest.phase not in _IDLE and fault_dumps.alive(newest.pid):
                self.heartbeat.writer = None
                return False
            self._beats = None
        if self._beats is None:
            try:
                self._beats = BeatWriter(self.folder.beats, attempt=self.attempt)
            except (
                OSError
            ) as error:  # a full disk, a limit on the size of files: the journal continues without
                self.failed("beats", error)
                return False
        self.heartbeat.writer = self._beats
        return True

    def keep_heartbeat(self) -> None:
        """Before beats of a process that is not training: another one may have taken the ring meanwhile."""
        if self._beats is not None:
            self.open_heartbeat()

    def _trains_in_other_process(self) -> bool:
        """A process below this one has trained, and this one has not: its last beat is worth more than our exit."""
        newest = BeatReader(self.folder.beats).newest()
        elsewhere = newest is not None and newest.pid != os.getpid() and newest.step > 0
        if elsewhere and not self.heartbeat.step:
            self.heartbeat.writer = None
            return True
        return False

    # -- the journal and the guard ------------------------------------------------------------------

    def record(self, event: Event) -> None:
        """Writes an event; a disk that does not take it is no reason to disturb the training."""
        if self.closed:
            return
        with contextlib.suppress(OSError):
            self._journal.append(event)

    def is_on(self, part: str) -> bool:
        return part not in self.failed_parts and not self.closed

    def failed(self, part: str, error: BaseException) -> None:
        """Switches a part off for good, and records it once."""
        if part in self.failed_parts:
            return
        self.failed_parts.add(part)
        frame = _innermost(error)
        self.record(ProbeFailed(part=part, error=f"{type(error).__name__}: {error} ({frame})"[:500]))

    def guard(self, part: str, action: Callable[..., Result], *args: Any) -> Result | None:
        """Runs a part of the probe so that nothing it does can reach the training."""
        if part in self.failed_parts or self.closed:
            return None
        try:
            return action(*args)
        except Exception as error:
            self.failed(part, error)
            return None

    # -- exit and fork ------------------------------------------------------------------------------

    def _watch_exit(self) -> None:
        """The interpreter's shutdown starts with threading._shutdown, before any thread is waited for."""
        shutdown = threading._shutdown  # type: ignore[attr-defined]

        def wrapped() -> Any:
            if not self.forked and not self._exiting:  # multiprocessing calls it, then the interpreter again
                self._exiting = True
                self.guard(PART_EXIT, self._exit_started)
            return shutdown()

        threading._shutdown = wrapped  # type: ignore[attr-defined]

    def _exit_started(self) -> None:
        last = getattr(sys, "last_value", None)
        if last is not None:  # unrecorded when somebody else's excepthook was in place
            self.exceptions.script_raised(last)
        if self._beats is not None and not self._trains_in_other_process():
            self.open_heartbeat()
        raised = type(last).__name__ if last is not None else ""
        self.heartbeat.at_next_beat = None  # Python 3.12 starts no thread any more
        self.heartbeat.set_phase(Phase.EXIT)
        self.record(ExitStarted(raised=raised, steps=self.heartbeat.step))
        for action in reversed(self.at_exit):
            self.guard(PART_EXIT, action)
        self.fault_dumps.close_at_exit()
        self.fault_dumps.remove_empty()

    def _before_fork(self) -> None:
        self.guard(PART_BACKGROUND, self.background.pause)

    def _after_fork(self) -> None:
        """A forked child is a loader until it trains: it keeps the journal, but not its parent's beats."""
        self.forked = True
        self.role = "worker"
        self._beats = None
        self.heartbeat.reset()
        self.at_exit.clear()
        if not fault_dumps.execs(sys._getframe(1)):
            self.guard(fault_dumps.PART, self.fault_dumps.open, self.folder)

    def _after_fork_above(self) -> None:
        self.guard(fault_dumps.PART, self.fault_dumps.forked)


def _script() -> str:
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if file:
        return str(file)
    argv = getattr(sys, "argv", None) or [""]
    return str(argv[0])


def _innermost(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "no traceback"
    return f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"

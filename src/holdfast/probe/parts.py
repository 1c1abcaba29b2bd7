"""The parts of the probe: the state that each has in a process, and the modules that each waits for.

A framework's parts are imported when that framework is: a process that never imports Keras never loads what observes
`fit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .fit.model_saving import SaveLog
from .inputs.input_observer import InputObserver
from .learning.deep_look import DeepLook
from .learning.learning_observer import LearningObserver
from .learning.weight_motion import WeightMotion
from .loop_data.eager_operations import EagerOperations
from .loop_data.gpu_losses import GpuLosses
from .loop_data.half_range import HalfRange
from .loop_data.loop_model import LoopModel
from .loop_data.loss_metrics import LossMetrics
from .loop_data.loss_scaler import LossScaler
from .loop_data.loss_terms import LossTerms
from .loop_data.normalisation import Averages
from .loop_data.step_arguments import StepArguments
from .loop_data.torch_layers import TorchLayers
from .loop_data.unmoved_averages import UnmovedAverages
from .loop_data.update_counts import UpdateCounts
from .loops.custom_loop import CustomLoop
from .loops.data_end import DataEnd
from .loops.function_traces import TraceCounter
from .loops.hand_updates import HandUpdates
from .loops.loss_calls import LossCalls
from .loops.session_hooks import SessionSteps
from .loops.torch_gradients import TorchGradients
from .loops.unapplied_gradients import UnappliedGradients
from .memory_use.memory_observer import MemoryUseObserver
from .process import exceptions, exit_calls, framework_versions, framework_warnings, signal_handlers
from .process.same_point import SamePointWatch
from .process.worker_processes import WorkerLog
from .runtime.context import ProbeContext
from .state.fit_log import ActiveFits
from .state.loop_source import OpenLoopLog
from .state.loss_watch import Losses
from .state.model_facts import ModelLog
from .state.observed_data import ObservedData
from .state.skipped_loops import SkippedLoops

if TYPE_CHECKING:
    from .runtime.hook import Hook


def create_context(run_dir: str, *, attempt: int, role: str) -> ProbeContext:
    context = ProbeContext(run_dir, attempt=attempt, role=role)
    context.fits = ActiveFits(context)
    context.losses = Losses(context)
    context.models = ModelLog(context)
    context.data = ObservedData()
    context.open_loops = OpenLoopLog(context)
    context.skipped_loops = SkippedLoops(context)
    context.saves = SaveLog()
    context.traces = TraceCounter(context)
    context.loop = CustomLoop(context)
    context.sessions = SessionSteps(context)
    context.gradients = UnappliedGradients(context)
    context.torch_gradients = TorchGradients(context)
    context.loss_scaler = LossScaler(context)
    context.half_range = HalfRange(context)
    context.gpu_losses = GpuLosses(context)
    context.loss_calls = LossCalls(context)
    context.loss_metrics = LossMetrics(context)
    context.loss_terms = LossTerms()
    context.step_arguments = StepArguments(context)
    context.eager_operations = EagerOperations(context)
    context.torch_layers = TorchLayers(context)
    context.update_counts = UpdateCounts(context)
    context.loop_model = LoopModel(context)
    context.averages = Averages(context)
    context.unmoved_averages = UnmovedAverages(context)
    context.data_end = DataEnd(context)
    context.hand_updates = HandUpdates(context)
    context.inputs = InputObserver(context)
    context.learning = LearningObserver(context)
    context.memory = MemoryUseObserver(context)
    context.motion = WeightMotion(context)
    context.deep_look = DeepLook(context)
    context.exceptions = exceptions.ExceptionLog(context)
    context.frameworks = framework_versions.FrameworkLog(context)
    context.warnings = framework_warnings.FrameworkWarnings(context)
    context.workers = WorkerLog(context)
    context.same_point = SamePointWatch(context)
    return context


def watch_process(context: ProbeContext) -> None:
    """What is observed in every process that imports a framework, from the start."""
    context.guard(signal_handlers.PART, signal_handlers.watch, context)
    context.guard(exit_calls.PART, exit_calls.watch, context)
    context.guard(framework_warnings.PART, framework_warnings.watch, context)
    context.guard(exceptions.PART, exceptions.watch_threads, context)


def process_hooks() -> tuple[Hook, ...]:
    from .fit import array_saving
    from .process import worker_exceptions, worker_processes
    from .state import skipped_loops

    return (*array_saving.HOOKS, *skipped_loops.HOOKS, *worker_processes.HOOKS, *worker_exceptions.HOOKS)


def framework_hooks(name: str) -> tuple[Hook, ...]:
    return (framework_versions.HOOKS[name], *_FRAMEWORKS[name]())


def _keras() -> tuple[Hook, ...]:
    """Keras 3, and Keras 2 under the same name."""
    from .fit import callback_list, model_saving, trainer_hooks
    from .inputs import datasets, python_batches
    from .learning import layer_lines
    from .loop_data import loss_metrics
    from .loops import tensorflow_hooks, tensorflow_loss, unapplied_gradients
    from .process import worker_processes

    return (
        *trainer_hooks.KERAS_HOOKS,
        *callback_list.KERAS_HOOKS,
        *model_saving.KERAS_HOOKS,
        *datasets.KERAS_HOOKS,
        *python_batches.KERAS_HOOKS,
        *layer_lines.KERAS_HOOKS,
        *tensorflow_hooks.KERAS_HOOKS,
        *tensorflow_loss.KERAS_HOOKS,
        *loss_metrics.KERAS_HOOKS,
        *unapplied_gradients.KERAS_HOOKS,
        *worker_processes.KERAS_HOOKS,
        *_keras2("keras.src", "keras"),  # of 2.13 and later, of 2.6 to 2.12
    )


def _tf_keras() -> tuple[Hook, ...]:
    return _keras2("tf_keras.src", "tf_keras")


def _keras2(*roots: str) -> tuple[Hook, ...]:
    """Keras 2, which has been a package of its own, a part of TensorFlow, and tf_keras."""
    from .fit import callback_list, model_saving, trainer_hooks
    from .inputs import datasets
    from .learning import layer_lines
    from .loops import tensorflow_hooks, unapplied_gradients
    from .process import worker_processes
    from .runtime.hook import below

    return below(
        roots,
        (
            *trainer_hooks.KERAS2_HOOKS,
            *callback_list.KERAS2_HOOKS,
            *model_saving.KERAS2_HOOKS,
            *datasets.KERAS2_HOOKS,
            *layer_lines.KERAS2_HOOKS,
            *tensorflow_hooks.KERAS2_HOOKS,
            *unapplied_gradients.KERAS2_HOOKS,
            *worker_processes.KERAS2_HOOKS,
        ),
    )


def _tensorflow() -> tuple[Hook, ...]:
    """TensorFlow, and the Keras 2 inside it, which is tf.keras before TensorFlow 2.6."""
    from .fit import model_saving
    from .inputs import tfdata_counters
    from .loops import function_traces, session_hooks, tensorflow_hooks, unapplied_gradients
    from .process import worker_processes

    return (
        *tfdata_counters.TENSORFLOW_HOOKS,
        *tensorflow_hooks.TENSORFLOW_HOOKS,
        *function_traces.TENSORFLOW_HOOKS,
        *session_hooks.TENSORFLOW_HOOKS,
        *unapplied_gradients.TENSORFLOW_HOOKS,
        *model_saving.TENSORFLOW_HOOKS,
        *worker_processes.TENSORFLOW_HOOKS,
        *_keras2("tensorflow.python.keras"),
    )


def _jax() -> tuple[Hook, ...]:
    from .loop_data import update_counts
    from .loops import function_traces, jax_jit

    return (*function_traces.JAX_HOOKS, *jax_jit.JAX_HOOKS, *update_counts.JAX_HOOKS)


def _torch() -> tuple[Hook, ...]:
    from .fit import model_saving
    from .inputs import incomplete_batches
    from .loop_data import loss_scaler
    from .loops import torch_hooks
    from .state import skipped_loops

    return (
        *incomplete_batches.TORCH_HOOKS,
        *torch_hooks.TORCH_HOOKS,
        *loss_scaler.TORCH_HOOKS,
        *skipped_loops.TORCH_HOOKS,
        *model_saving.TORCH_HOOKS,
    )


_FRAMEWORKS = {
    "keras": _keras,
    "tf_keras": _tf_keras,
    "tensorflow": _tensorflow,
    "jax": _jax,
    "torch": _torch,
}

"""What the training really does, counted without Holdfast: batches and epochs of `fit`, updates of each optimizer.

Written to the file $PUBLIC_COUNTS at the end of the process.
"""

import atexit
import functools
import json
import os

_COUNTED = {"batches": 0, "epochs": 0, "fits": 0, "train_on_batch": 0, "torch_steps": 0}
_ITERATIONS = []  # the counter variables of all optimizers; a scalar each, so they may be kept alive


def patch_keras():
    from keras import Model
    from keras.callbacks import CallbackList
    from keras.optimizers import Optimizer

    _wrap(CallbackList, "on_train_begin", _fit_began)
    _wrap(CallbackList, "on_epoch_begin", _epoch_began)
    _wrap(CallbackList, "on_train_batch_end", _batch_ended)
    _wrap(CallbackList, "on_epoch_end", _epoch_ended)
    _wrap(Model, "train_on_batch", lambda *args, **options: _add("train_on_batch"))
    build = Optimizer.__init__

    @functools.wraps(build)
    def built(self, *args, **options):
        build(self, *args, **options)
        _ITERATIONS.append(self.iterations)

    Optimizer.__init__ = built
    _count_torch()
    atexit.register(_write)


def _count_torch():
    """Steps of torch's own optimizers, which a script of Keras on torch may use as well."""
    import keras

    if keras.backend.backend() == "torch":
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(lambda *args: _add("torch_steps"))


def _wrap(kind, name, note):
    original = getattr(kind, name)

    @functools.wraps(original)
    def noted(self, *args, **options):
        note(self, *args, **options)
        return original(self, *args, **options)

    setattr(kind, name, noted)


def _add(name, count=1):
    _COUNTED[name] += count


def _fit_began(callbacks, logs=None):
    _add("fits")


def _epoch_began(callbacks, epoch, logs=None):
    callbacks.public_last = -1


def _batch_ended(callbacks, batch, logs=None):
    """With steps_per_execution `batch` is the last of several."""
    _add("batches", batch - callbacks.public_last)
    callbacks.public_last = batch


def _epoch_ended(callbacks, epoch, logs=None):
    _add("epochs")


def _write():
    path = os.environ.get("PUBLIC_COUNTS")
    if path:
        updates = []
        for one in _ITERATIONS:
            try:
                updates.append(int(one.numpy()))
            except Exception:  # a variable whose buffer was donated to a compiled step
                updates.append(-1)
        with open(path, "w") as file:
            json.dump({**_COUNTED, "updates": updates}, file)

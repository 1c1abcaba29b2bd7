"""Faults of memory, processes, threads and the way that steps are executed."""

from __future__ import annotations

import random

from ..draft import Draft, code
from .registry import callback, fault, longer


def _limit(draft: Draft, mib: int) -> None:
    draft.world = draft.world.__class__(memory_mib=mib)


@fault("memory-leak", "killed-for-memory", needs="keras fit", without="torch-backend")
def a_callback_keeps_maps(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-arrays-fit: 2.8 MB more a step; epoch 15 after 50 s on a busy machine, the limit is near."""
    _limit(draft, 2500)
    longer(draft)
    callback(draft, code("""
        class c_Hook(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.v_store = []

            def on_train_batch_end(self, batch, logs=None):
                v_map = np.random.default_rng(batch).normal(size=(500, 700))
                self.v_store.append((batch, logs["loss"], v_map))
        """))  # fmt: skip


@fault("memory-leak", "killed-for-memory", one_of="tape torch", without="anchors detection")
def the_loop_keeps_everything(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-tape: exit -9 after 15 of 600 epochs."""
    _limit(draft, 2500)
    longer(draft)
    grown = (
        "torch.cat([v_xb.flatten()] * 400).clone()"
        if "torch" in draft.features
        else "tf.tile(tf.reshape(tf.cast(v_xb, tf.float32), [1, -1]), [1500, 1])"
    )
    draft.put(loop_before="v_store = []", step_extra=f"v_store.append((float(v_loss), {grown}))")


@fault("killed-for-memory", "", needs="xy", without="image", one_of="keras torch jax")
def copies_fill_memory(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-arrays-fit: exit -9 after the import, before any step."""
    _limit(draft, 2000)
    draft.put(data_extra=code("""
        v_copies = []
        for k in range(3000):
            v_copies.append(np.repeat(v_x.astype("float64"), 30, axis=0) * (1.0 + 1e-3 * k))
        v_x = (v_x + 1e-9 * v_copies[-1][:len(v_x)]).astype("float32")
        """))  # fmt: skip


_ENLARGE = "v_train = v_train.repeat(8).map(lambda v_a, v_b: (tf.image.resize(v_a, (400, 400)), v_b), num_parallel_calls=2)"


def _shrink(draft: Draft) -> str:
    side = draft.input_shape.strip("(").split(",")[0]
    return f"v_train = v_train.map(lambda v_a, v_b: (tf.image.resize(v_a, ({side}, {side})), v_b))"


@fault("shuffle-buffer-too-large", "killed-for-memory", needs="tfdata image conv xy", without="segmentation")
def a_buffer_of_large_images(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_classes-tfdata-tape: exit -9 while the bar is at 0 of 120."""
    _limit(draft, 2000)
    draft.put(feed_elements=_ENLARGE, buffer="5000", feed_batched=_shrink(draft))


@fault("cache-too-large", "killed-for-memory", needs="tfdata image conv xy", without="segmentation")
def a_cache_of_large_images(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-tfdata-fit: exit -9 at step 12 of 100 of epoch 1."""
    _limit(draft, 2000)
    draft.put(
        feed_elements=_ENLARGE + "\nv_train = v_train.cache()", buffer="10", feed_batched=_shrink(draft)
    )


@fault("prefetch-too-deep", "killed-for-memory", needs="tfdata image conv xy", without="segmentation tape")
def a_long_queue_of_batches(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-tfdata-fit: exit -9 in epoch 1."""
    _limit(draft, 2500)
    side = int(draft.input_shape.strip("(").split(",")[0])
    draft.put(buffer="10", prefetch="500")
    draft.put(feed_batched="v_train = v_train.repeat(6).map(lambda v_a, v_b: (tf.tile(v_a, [1, 12, 12, 1]), v_b), num_parallel_calls=2)",
              feed_val="v_val = v_val.map(lambda v_a, v_b: (tf.tile(v_a, [1, 12, 12, 1]), v_b))")  # fmt: skip
    draft.input_shape = draft.input_shape.replace(f"({side}, {side}", f"({12 * side}, {12 * side}")
    draft.layers[:2] = [
        'keras.layers.Conv2D(16, 5, strides=2, padding="same", activation="relu")',
        "keras.layers.MaxPooling2D(8)",
    ]


@fault("retracing", "", needs="tape xy", without="detection")
def a_number_as_argument(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-tfdata-tape: one trace a step, TensorFlow warns; 30 steps take 20 s on a busy machine."""
    draft.put(decorator="@tf.function", step_args=", v_number", step_values=", v_number", loop_before="v_number = 0",
              step_extra="v_number += 1", step_loss_extra="if v_number % 500 == 499:\n    tf.print(v_number)")  # fmt: skip
    draft.constants |= {"SAMPLES": "500", "BATCH": "16", "EPOCHS": "4"}


@fault("eager-execution", "", needs="keras fit tensorflow", without="sequence")
def eager_left_on(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-segmentation-tfdata-fit: it learns (0.52 .. 0.03), and takes 41 s instead of 15."""
    if rng.random() < 0.5:
        draft.put(compile_kw=", run_eagerly=True")
    else:
        draft.put(train_before="tf.config.run_functions_eagerly(True)")


@fault("recompiling", "", needs="jax")
def batches_of_many_sizes(draft: Draft, rng: random.Random) -> None:
    """Seen on jax-multiclass-adam: a compilation for each of 17 sizes; not one epoch in 50 s on a busy machine."""
    draft.put(batch_extra="v_keep = len(v_xb) - v_count % 17\nv_xb, v_yb = v_xb[:v_keep], v_yb[:v_keep]")
    draft.constants |= {"BATCH": "32"}
    draft.put(epoch_extra="")


@fault("worker-died", "script-error native-crash", needs="torch python-feed")
def a_loader_process_ends(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-image_classes-torch-dataset: RuntimeError, DataLoader worker exited unexpectedly, exit 1."""
    draft.put(loader_kw=", num_workers=2", sample_extra="if index == 333:\n    os._exit(1)")


@fault("native-crash", "", one_of="keras torch jax", without="anchors")
def a_wild_pointer(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multilabel-arrays-fit: exit -11, no message."""
    slot = "model_extra" if "fit" in draft.features else "epoch_extra"
    draft.add(slot, "v_size = ctypes.string_at(16, 64)")


@fault("exit-hang", "", one_of="keras torch jax", without="anchors", limit_s=120)
def a_thread_never_ends(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-binary-dataloader: all 12 epochs and the last line are printed, and the process does not end."""
    draft.add("finish", "v_done = threading.Event()\nthreading.Thread(target=v_done.wait).start()")


@fault("script-error", "callback-raised path-missing", one_of="keras torch jax", without="anchors")
def a_plain_mistake(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-tfdata-fit: ValueError, cannot reshape array of size 2 into shape (3,2), exit 1."""
    line = rng.choice(['v_table = {"loss": 1.0}\nv_best = v_table["best"]', "v_ratio = 1 / len([])", 'v_size = "12" + 3',
                       'v_note = np.array([1.0, 2.0]).reshape(3, 2)'])  # fmt: skip
    draft.add(rng.choice(["finish_before", "model_extra"]), line)


@fault(
    "script-error",
    "wrong-channels output-units-mismatch mixed-image-sizes input-scale-mismatch",
    needs="keras tabular xy",
    without="detection",
)
def wrong_input_width(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-arrays-fit: ValueError, expected axis -1 to have value 15, exit 1."""
    width = int(draft.input_shape.strip("(),"))
    draft.input_shape = f"({width + 3},)"


@fault("download-blocked", "script-error", needs="keras", without="custom-step")
def weights_from_the_net(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-arrays-fit: URL fetch failure, name or service not known, exit 1."""
    draft.add(
        "model_extra",
        'v_model.load_weights(keras.utils.get_file("start.weights.h5", "https://models.invalid/start.weights.h5"))',
    )

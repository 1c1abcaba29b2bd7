"""Faults of files, records and images, and of the counting of steps and epochs."""

from __future__ import annotations

import random

from ..draft import Draft
from .registry import fault, no_final_loss


def _prepare(draft: Draft, lines: str) -> None:
    draft.prepare = draft.prepare.replace("<<files_extra>>", lines)


@fault("dataset-empty path-missing", "", needs="files", one_of="image-paths tfrecord", without="tape")
def pattern_matches_nothing(draft: Draft, rng: random.Random) -> None:
    """Seen on files-image-paths: exit 0 and no loss at all."""
    draft.put(pattern="*.jpg" if "image-paths" in draft.features else "*.tfrecords")
    no_final_loss(draft)


@fault("dataset-empty filter-never-passes", "", needs="tfdata fit xy", without="custom-step")
def everything_filtered_out(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multilabel-tfdata-fit-tensorflow: exit 0 and no loss at all."""
    draft.put(
        feed_elements="v_train = v_train.filter(lambda v_a, v_b: tf.reduce_max(tf.cast(v_a, tf.float32)) > 1e6)"
    )
    no_final_loss(draft)


@fault(
    "dataset-smaller-than-batch dataset-empty",
    "",
    needs="tfdata fit",
    one_of="xy tfrecord",
    without="custom-step",
)
def batch_larger_than_the_data(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multilabel-tfdata-fit: no training step, only validation is printed, exit 0."""
    draft.constants["BATCH"] = "4096"
    draft.put(remainder=", drop_remainder=True")
    no_final_loss(draft)


@fault("undecodable-image", "script-error", one_of="imagefolder image-paths")
def a_cut_off_image(draft: Draft, rng: random.Random) -> None:
    """Seen on files-image-folder: InvalidArgumentError of DecodeImage in the first epoch, exit 1."""
    _prepare(draft, f"""
bad = sorted(Path(".").glob("*/train/*/*.png"))[37]
bad.write_bytes(bad.read_bytes()[:60] if {rng.random() < 0.5} else b"<html>404 not found</html>")
""")  # fmt: skip


@fault("wrong-channels", "mixed-image-sizes script-error", needs="image-paths")
def a_grey_image(draft: Draft, rng: random.Random) -> None:
    """Seen on files-image-paths: 'Cannot add tensor to the batch', [32,32,1] against [32,32,3], exit 1."""
    draft.put(
        channels="0",
        resize="v_img = tf.image.resize(v_img, (K_SIDE, K_SIDE))\nv_img.set_shape((K_SIDE, K_SIDE, None))",
    )
    _prepare(draft, """
for bad in sorted(Path(".").glob("*/train/*/*.png"))[20::90]:
    Image.open(bad).convert("L").save(bad)
""")  # fmt: skip


@fault("mixed-image-sizes", "script-error", needs="image-paths")
def images_of_two_sizes(draft: Draft, rng: random.Random) -> None:
    """Seen on files-image-paths: 'Cannot add tensor to the batch', [44,56,3] against [40,40,3], exit 1."""
    draft.put(resize="")
    draft.constants["SIDE"] = "40"
    _prepare(draft, """
for bad in sorted(Path(".").glob("*/train/*/*.png"))[20::50]:
    Image.open(bad).resize((56, 44)).save(bad)
""")  # fmt: skip


@fault("corrupt-record", "script-error", needs="tfrecord")
def a_damaged_shard(draft: Draft, rng: random.Random) -> None:
    """Seen on files-records: it ends with DataLossError: Graph execution error."""
    if rng.random() < 0.5:
        _prepare(
            draft,
            "\nimport glob\nlast = sorted(glob.glob('*/part-01*'))[0]\nos.truncate(last, os.path.getsize(last) // 2 + 60)\n",
        )
    else:
        _prepare(
            draft,
            "\nimport glob\nlast = sorted(glob.glob('*/part-01*'))[0]\nwith open(last, 'r+b') as f:\n    f.seek(20000)\n    f.write(b'0' * 40)\n",
        )


@fault("data-silently-dropped", "undecodable-image", needs="image-paths")
def many_images_skipped(draft: Draft, rng: random.Random) -> None:
    """Seen on files-image-paths: it learns (1.11 .. 0.74) from 180 of 450 images, without a message."""
    draft.put(feed_elements="v_train = v_train.ignore_errors()")
    _prepare(draft, """
for n, bad in enumerate(sorted(Path(".").glob("*/train/*/*.png"))):
    if n % 5 > 1:
        bad.write_bytes(b"GIF8" + bad.read_bytes()[4:])
""")  # fmt: skip


@fault("data-silently-dropped", "corrupt-record", needs="tfrecord")
def broken_shards_skipped(draft: Draft, rng: random.Random) -> None:
    """Seen on files-records: it learns (1.26 .. 0.13) from fewer records than were written, without a message."""
    draft.put(feed_elements="v_train = v_train.ignore_errors()")
    _prepare(draft, """
import glob
for name in sorted(glob.glob('*/part-0[01]*')):
    os.truncate(name, os.path.getsize(name) // 6 + 60)
""")  # fmt: skip


@fault("dataset-exhausted", "", needs="tfdata fit", one_of="xy tfrecord", without="custom-step")
def more_steps_than_data(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-tfdata-fit: Keras warns that the input ran out of data; the loss runs 0.69 .. 0.47."""
    draft.put(fit_kw=", steps_per_epoch=400")
    draft.constants["EPOCHS"] = "10"


@fault("generator-exhausted", "dataset-exhausted", needs="generator fit")
def generator_ends(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-generator-fit: one epoch prints a loss of 0; later the loss falls to 0.04 while that of the validation rises."""
    draft.put(gen_loop="for _ in range(<<rounds>>):")
    draft.slots["rounds"] = rng.choice(["1", "2"])
    draft.constants["EPOCHS"] = "12"


@fault("epoch-never-ends", "", needs="tfdata fit", one_of="xy imagefolder")
def repeats_without_end(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-sequence-tfdata-fit: 5397/Unknown steps of epoch 1 after a minute."""
    draft.put(feed_batched="v_train = v_train.repeat()")


@fault("epoch-never-ends", "", needs="tape tfdata", without="anchors files")
def a_loop_over_endless_data(draft: Draft, rng: random.Random) -> None:
    """Seen on detection-grid-tape: the first epoch does not end, nothing is printed."""
    draft.put(feed_batched="v_train = v_train.repeat()")


@fault(
    "validation-never-ends", "", needs="tfdata fit", one_of="xy tfrecord imagefolder", without="custom-step"
)
def validation_repeats(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-tfdata-fit: it stays behind the last step of epoch 1 for a minute."""
    draft.put(feed_val="v_val = v_val.repeat()")


@fault("filter-never-passes", "dataset-empty input-blocked", needs="tfdata xy")
def filter_on_endless_data(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-tape: not one step in 50 s."""
    draft.put(
        feed_elements="v_train = v_train.repeat().filter(lambda v_a, v_b: tf.reduce_max(tf.cast(v_a, tf.float32)) > 1e6)"
    )
    if "fit" in draft.features:
        draft.put(fit_kw=", steps_per_epoch=30")


@fault("batched-twice", "script-error", needs="tfdata", one_of="xy tfrecord", without="anchors segmentation")
def batch_upon_batch(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-tfdata-tape: ValueError about the shape of the input, exit 1."""
    draft.put(feed_batched="v_train = v_train.batch(8)")


@fault("input-starved", "", one_of="generator pydataset")
def slow_augmentation(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-forecast-pydataset-fit: it learns (0.52 .. 0.04); nearly all of the time is spent in the batches."""
    line = "v_jitter = [sum(math.sin(0.1 * a + b) for b in range(6000)) for a in range(len(v_xb))]"
    draft.put(item_extra=f"{line}\nv_xb = v_xb + 1e-6 * float(np.mean(v_jitter))")
    draft.constants["EPOCHS"] = "5"


@fault("input-starved", "", needs="torch python-feed")
def slow_samples(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-multiclass-torch-dataset: it learns slowly (1.39 .. 0.86), nearly all of the time is spent in the samples."""
    draft.put(
        sample_extra="v_jitter = sum(math.sin(0.1 * a) for a in range(30000))\nv_xb = v_xb + 1e-9 * v_jitter"
    )
    draft.constants |= {"EPOCHS": "4", "SAMPLES": "800"}


@fault("input-blocked", "", one_of="generator pydataset", limit_s=120)
def waits_for_a_pipe(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-generator-fit: not one step in 50 s."""
    name = rng.choice(["incoming.bin", "camera.raw", "feed.dat"])
    draft.around = f"fifo:{name}"
    line = f'with open("{name}", "rb") as v_pipe:\n    v_pipe.read(64)'
    if "generator" in draft.features:
        draft.put(gen_before=line)
    else:
        draft.put(item_extra=line)


@fault("input-blocked", "deadlock", needs="generator", limit_s=120)
def waits_for_an_empty_queue(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-generator-fit: it stops at step 1 of epoch 2 and prints nothing more."""
    draft.put(
        gen_before="v_ready = queue.Queue()\nfor k in range(40):\n    v_ready.put(k)",
        item_extra="v_ready.get()",
    )


@fault("loader-swallows-errors", "input-blocked", needs="generator", without="image", limit_s=150)
def every_error_is_skipped(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-generator-fit: no step in 70 s, and no message."""
    draft.put(
        gen_before="v_columns = [0, 1, 99]",
        item_extra="try:\n    v_xb = v_xb[:, v_columns]\nexcept Exception:\n    continue",
    )


@fault("generator-not-thread-safe", "script-error", needs="pydataset fit")
def one_generator_for_many_threads(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-pydataset-fit: ValueError, generator already executing, exit 1."""
    draft.defs.append("""def f_noise(shape):
    v_rng = np.random.default_rng(0)
    while True:
        v_sum = np.sort(v_rng.normal(size=(300, 3000)), axis=1).mean()
        time.sleep(0.01)
        yield 1e-6 * v_sum * np.ones(shape, "float32")""")
    draft.replace(
        "self.v_x, self.v_y, self.size = v_x, v_y, size",
        "self.v_x, self.v_y, self.size = v_x, v_y, size\n        self.noise = f_noise(v_x.shape[1:])",
    )
    draft.put(item_extra="v_xb = v_xb + next(self.noise)")
    draft.replace("c_Data(v_x, v_y, <<batch>>)", "c_Data(v_x, v_y, <<batch>>, workers=4)")


@fault("memory-refused", "script-error", needs="xy")
def a_matrix_of_all_pairs(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-arrays-fit: MemoryError, unable to allocate 3.93 TiB, exit 1."""
    draft.put(
        data_extra="v_pairs = np.empty((len(v_x), len(v_x), 60000))\nv_pairs[:] = v_x.reshape(len(v_x), -1).sum(1)[:, None, None]"
    )

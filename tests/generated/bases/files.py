"""Programs that read files: a folder of images, TFRecord files, a CSV file. Another script has made the files before."""

from __future__ import annotations

import random

from ..draft import Draft, Piece, code
from ..words import ABOUT
from . import keras_loops
from .tasks import HEAD

_IMAGES = """
import numpy as np
from pathlib import Path
from PIL import Image

rng = np.random.default_rng({seed})
for split, count in (("train", {count}), ("val", 20)):
    for k, name in enumerate({names}):
        folder = Path("{root}") / split / name
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(count):
            img = rng.integers(0, 60, size=(40, 40, 3))
            a, b = rng.integers(4, 22, 2)
            if k == 0:
                img[a:a + 14, b:b + 3] += 150
            elif k == 1:
                img[a:a + 3, b:b + 14] += 150
            else:
                img[a:a + 9, b:b + 9] += 110
            Image.fromarray(img.astype("uint8")).save(folder / f"{{i:04d}}.png")
<<files_extra>>
"""
_NAMES = [
    ["bolt", "nut", "washer"],
    ["oak", "birch", "maple"],
    ["stop", "yield", "speed"],
    ["cup", "fork", "plate"],
]
_ROOTS = ["photos", "images", "dataset", "shots", "thumbs"]


def _start(name: str, features: str, about: str, rng: random.Random) -> Draft:
    one = Draft(name, set(features.split()), rng.choice(ABOUT[about]))
    one.constants = {"SEED": str(rng.randrange(1000)), "BATCH": rng.choice(["16", "32"]), "LR": "2e-3",
                     "EPOCHS": str(rng.randrange(6, 9)), "SIDE": "32", "CLASSES": "3"}  # fmt: skip
    one.slots = {"hidden_act": ', activation="relu"', "hidden_kw": "", "head_kw": "", "units": "K_CLASSES",
                 "head_act": ', activation="softmax"', "metric": '"accuracy"', "scale": "keras.layers.Rescaling(1 / 255)",
                 "loss": "keras.losses.SparseCategoricalCrossentropy()"}  # fmt: skip
    one.input_shape = "(K_SIDE, K_SIDE, 3)"
    one.layers = [
        "keras.layers.Conv2D(12, 3, strides=2<<hidden_act>><<hidden_kw>>)",
        "keras.layers.Conv2D(24, 3, strides=2<<hidden_act>><<hidden_kw>>)", "keras.layers.Flatten()",
        "keras.layers.Dense(32<<hidden_act>><<hidden_kw>>)", HEAD,
    ]  # fmt: skip
    return one


def image_folder(rng: random.Random) -> Draft:
    """keras.utils.image_dataset_from_directory and fit."""
    one = _start(
        "image_folder", "image conv multiclass classification imagefolder tfdata dataset files", "image", rng
    )
    root = rng.choice(_ROOTS)
    one.prepare = _IMAGES.format(seed=rng.randrange(1000), count=150, names=rng.choice(_NAMES), root=root)
    one.layers.insert(0, "<<scale>>")
    body = code("""
        <<feed_before>>
        v_train = keras.utils.image_dataset_from_directory(
            "<<root>>/train", image_size=(K_SIDE, K_SIDE), batch_size=<<batch>>, seed=K_SEED<<folder_kw>>)
        v_val = keras.utils.image_dataset_from_directory("<<root>>/val", image_size=(K_SIDE, K_SIDE), batch_size=<<batch>>)
        <<feed_batched>>
        <<feed_val>>
        v_train = v_train.cache().prefetch(2)
        """)
    one.slots |= {"root": root, "batch": "K_BATCH", "fit_data": "v_train, ", "val_data": "v_val"}
    one.pieces = [Piece("feed", [], body, ["v_train", "v_val"])]
    keras_loops.model_piece(one)
    keras_loops.compile_and_fit(one, rng)
    return one


def image_paths(rng: random.Random) -> Draft:
    """File names, tf.io.decode_png in a map, a loop or fit."""
    one = _start(
        "image_paths", "image conv multiclass classification image-paths tfdata dataset files", "image", rng
    )
    root, names = rng.choice(_ROOTS), rng.choice(_NAMES)
    one.prepare = _IMAGES.format(seed=rng.randrange(1000), count=150, names=names, root=root)
    one.defs = [code("""
        def f_read(path, v_label):
            v_img = tf.io.decode_png(tf.io.read_file(path), channels=<<channels>>)
            <<resize>>
            return tf.cast(v_img, tf.float32)<<div>>, v_label
        """)]  # fmt: skip
    one.slots |= {
        "channels": "3",
        "resize": "v_img = tf.image.resize(v_img, (K_SIDE, K_SIDE))",
        "div": " / 255.0",
    }
    body = code(f"""
        v_names = {names}

        def f_list(part):
            v_files = [(str(p), k) for k, name in enumerate(v_names) for p in sorted((Path("<<root>>") / part / name).glob("<<pattern>>"))]
            np.random.default_rng(K_SEED).shuffle(v_files)
            return [p for p, k in v_files], [int(k) for p, k in v_files]

        v_files, v_y = f_list("train")
        <<feed_before>>
        v_train = tf.data.Dataset.from_tensor_slices((tf.constant(v_files, tf.string), tf.constant(v_y, tf.int64)))
        v_train = v_train.shuffle(500).map(f_read, num_parallel_calls=2)
        <<feed_elements>>
        v_train = v_train.batch(<<batch>><<remainder>>)
        <<feed_batched>>
        v_files, v_y = f_list("val")
        v_val = tf.data.Dataset.from_tensor_slices((tf.constant(v_files, tf.string), tf.constant(v_y, tf.int64))).map(f_read).batch(<<batch>>)
        <<feed_val>>
        """)
    one.slots |= {
        "root": root,
        "batch": "K_BATCH",
        "fit_data": "v_train, ",
        "val_data": "v_val",
        "pattern": "*.png",
    }
    one.pieces = [Piece("feed", [], body, ["v_train", "v_val"])]
    keras_loops.model_piece(one)
    (keras_loops.compile_and_fit if rng.random() < 0.6 else keras_loops.tape_loop)(one, rng)
    return one


_RECORDS = """
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf

rng = np.random.default_rng({seed})
os.makedirs("{root}", exist_ok=True)
mix = rng.normal(size=(20, 4))
for shard in range(3):
    with tf.io.TFRecordWriter(f"{root}/part-{{shard:02d}}.tfrecord") as out:
        for _ in range(600):
            x = rng.normal(size=20).astype("float32")
            y = int(np.argmax(x @ mix))
            out.write(tf.train.Example(features=tf.train.Features(feature={{
                "values": tf.train.Feature(float_list=tf.train.FloatList(value=x)),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[y]))}})).SerializeToString())
<<files_extra>>
"""


def records(rng: random.Random) -> Draft:
    """TFRecord shards, tf.io.parse_single_example, fit."""
    one = Draft("records", {"tabular", "multiclass", "dense", "classification", "tfrecord", "tfdata", "dataset", "files", "numeric"},
                rng.choice(ABOUT["multiclass"]))  # fmt: skip
    one.constants = {"BATCH": "32", "LR": "3e-3", "EPOCHS": str(rng.randrange(7, 10)), "CLASSES": "4"}
    one.slots = {"hidden_act": ', activation="relu"', "hidden_kw": "", "head_kw": "", "units": "K_CLASSES",
                 "head_act": ', activation="softmax"', "metric": '"accuracy"',
                 "loss": "keras.losses.SparseCategoricalCrossentropy()"}  # fmt: skip
    root = rng.choice(["records", "shards", "export"])
    one.prepare = _RECORDS.format(seed=rng.randrange(1000), root=root)
    one.input_shape = "(20,)"
    one.layers = [
        "keras.layers.Dense(48<<hidden_act>><<hidden_kw>>)",
        "keras.layers.Dense(24<<hidden_act>><<hidden_kw>>)",
        HEAD,
    ]
    one.defs = [code("""
        def f_parse(record):
            v_spec = {"values": tf.io.FixedLenFeature([20], tf.float32), "label": tf.io.FixedLenFeature([], tf.int64)}
            v_row = tf.io.parse_single_example(record, v_spec)
            return v_row["values"], v_row["label"]
        """)]  # fmt: skip
    body = code("""
        v_files = sorted(glob.glob("<<root>>/<<pattern>>"))
        <<feed_before>>
        v_train = tf.data.TFRecordDataset(v_files<<files_kw>>)
        <<feed_elements>>
        v_train = v_train.map(f_parse).shuffle(<<buffer>>).batch(<<batch>><<remainder>>)
        <<feed_batched>>
        v_train = v_train.prefetch(<<prefetch>>)
        v_val = v_train.take(8)
        <<feed_val>>
        """)
    one.slots |= {"root": root, "pattern": "*.tfrecord", "buffer": "1000", "prefetch": "2", "batch": "K_BATCH",
                  "fit_data": "v_train, ", "val_data": "v_val"}  # fmt: skip
    one.pieces = [Piece("feed", [], body, ["v_train", "v_val"])]
    keras_loops.model_piece(one)
    keras_loops.compile_and_fit(one, rng)
    return one


_TABLE = """
import numpy as np

rng = np.random.default_rng({seed})
x = rng.normal(size=(2500, 8))
y = x[:, 0] * x[:, 1] + 0.5 * x[:, 2] > 0.2
np.savetxt("{root}", np.column_stack([x, y]), delimiter=",", header="a,b,c,d,e,f,g,h,target", comments="", fmt="%.5f")
<<files_extra>>
"""


def table(rng: random.Random) -> Draft:
    """A CSV file read by NumPy, fit on arrays."""
    one = Draft(
        "table",
        {"xy", "tabular", "binary", "dense", "classification", "csv", "files", "numeric"},
        rng.choice(ABOUT["binary"]),
    )
    one.constants = {"BATCH": "32", "LR": "3e-3", "EPOCHS": str(rng.randrange(8, 12))}
    one.slots = {"hidden_act": ', activation="relu"', "hidden_kw": "", "head_kw": "", "units": "1",
                 "head_act": ', activation="sigmoid"', "metric": '"accuracy"', "loss": "keras.losses.BinaryCrossentropy()"}  # fmt: skip
    root = rng.choice(["customers.csv", "readings.csv", "claims.csv", "visits.csv"])
    one.prepare = _TABLE.format(seed=rng.randrange(1000), root=root)
    one.slots["root"] = root
    one.input_shape = "(8,)"
    one.layers = [
        "keras.layers.Dense(48<<hidden_act>><<hidden_kw>>)",
        "keras.layers.Dense(24<<hidden_act>><<hidden_kw>>)",
        HEAD,
    ]
    body = code("""
        v_rows = np.genfromtxt("<<root>>", delimiter=",", skip_header=1, dtype="float32")
        v_x, v_y = v_rows[:, :-1], v_rows[:, <<target_column>>]
        <<data_extra>>
        v_split = int(0.8 * len(v_x))
        v_xval, v_yval = v_x[v_split:], v_y[v_split:]
        v_x, v_y = v_x[:v_split], v_y[:v_split]
        <<split_extra>>
        """)
    one.slots["target_column"] = "-1"
    one.pieces = [Piece("data", [], body, ["v_x", "v_y", "v_xval", "v_yval"])]
    keras_loops.feed_arrays(one)
    keras_loops.model_piece(one)
    keras_loops.compile_and_fit(one, rng)
    return one

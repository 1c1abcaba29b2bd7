"""Small detectors: a grid that predicts one object a cell, and anchors with classes and box offsets."""

from __future__ import annotations

import random

from ..draft import Draft, Piece, code
from ..words import ABOUT

_SCENES = """
    v_rng = np.random.default_rng(K_SEED)
    v_x = v_rng.normal(0.2, 0.05, size=(K_SAMPLES, 48, 48, 3)).astype("float32")
    v_boxes = np.zeros((K_SAMPLES, 4), "float32")
    v_ids = v_rng.integers(0, K_CLASSES, K_SAMPLES)
    for i in range(K_SAMPLES):
        w, h = v_rng.integers(10, 22, 2)
        x0, y0 = v_rng.integers(0, 48 - w), v_rng.integers(0, 48 - h)
        v_x[i, y0:y0 + h, x0:x0 + w, v_ids[i]] += 0.6
        v_boxes[i] = <<box>>
    v_boxes = v_boxes<<box_scale>>
    <<data_extra>>
"""

_GRID_TARGET = """
    def f_encode(v_boxes, v_ids):
        v_y = np.zeros((len(v_boxes), 6, 6, 5 + K_CLASSES), "float32")
        for i, (x0, y0, x1, y1) in enumerate(v_boxes):
            cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
            col, row = min(int(cx * 6), 5), min(int(cy * 6), 5)
            v_y[i, row, col, :5] = 1.0, cx * 6 - col, cy * 6 - row, <<width>>, <<height>>
            v_y[i, row, col, 5 + v_ids[i]] = 1.0
        return v_y
"""

_GRID_LOSS_TF = """
    def f_loss(y_true, y_pred):
        v_mask = y_true[..., 0]
        v_there = tf.nn.sigmoid_cross_entropy_with_logits(labels=v_mask, logits=y_pred[..., 0])
        v_box = tf.reduce_sum(tf.square(y_true[..., 1:5] - y_pred[..., 1:5]), axis=-1) * v_mask
        v_kind = tf.nn.softmax_cross_entropy_with_logits(labels=y_true[..., 5:], logits=y_pred[..., 5:]) * v_mask
        return tf.reduce_mean(tf.reduce_sum(v_there + <<box_weight>>v_box + v_kind, axis=[1, 2]))
"""

_GRID_LOSS_TORCH = """
    def f_loss(v_pred, y_true):
        v_mask = y_true[..., 0]
        v_there = F.binary_cross_entropy_with_logits(v_pred[..., 0], v_mask, reduction="none")
        v_box = ((y_true[..., 1:5] - v_pred[..., 1:5]) ** 2).sum(-1) * v_mask
        v_kind = -(y_true[..., 5:] * F.log_softmax(v_pred[..., 5:], dim=-1)).sum(-1) * v_mask
        return (v_there + <<box_weight>>v_box + v_kind).sum(dim=(1, 2)).mean()
"""

_BACKBONE = [
    'keras.layers.Conv2D(16, 3, strides=2, padding="same"<<hidden_act>><<hidden_kw>>)',
    'keras.layers.Conv2D(32, 3, strides=2, padding="same"<<hidden_act>><<hidden_kw>>)',
    'keras.layers.Conv2D(48, 3, strides=2, padding="same"<<hidden_act>><<hidden_kw>>)',
]


def _start(name: str, features: str, rng: random.Random) -> Draft:
    one = Draft(name, set(features.split()) | {"image", "detection", "conv"}, rng.choice(ABOUT["detection"]))
    one.constants = {"SEED": str(rng.randrange(1000)), "SAMPLES": "500", "BATCH": "16", "CLASSES": "3",
                     "EPOCHS": str(rng.randrange(9, 12)), "LR": "2e-3"}  # fmt: skip
    one.slots = {"hidden_act": ', activation="relu"', "hidden_kw": "", "head_kw": "", "box": "x0, y0, x0 + w, y0 + h",
                 "box_scale": " / 48.0", "box_weight": "5.0 * ", "width": "x1 - x0", "height": "y1 - y0",
                 "batch": "K_BATCH", "lr": "K_LR"}  # fmt: skip
    return one


def grid(loop: str, rng: random.Random) -> Draft:
    """One object a cell, Keras; `loop` is fit or tape."""
    from . import keras_loops

    one = _start(f"grid_{loop}", "grid", rng)
    one.defs = [code(_GRID_TARGET), code(_GRID_LOSS_TF)]
    body = code(_SCENES) + "\nv_y = f_encode(v_boxes, v_ids)\n" + code("""
        v_split = int(0.85 * len(v_x))
        v_xval, v_yval = v_x[v_split:], v_y[v_split:]
        v_x, v_y = v_x[:v_split], v_y[:v_split]
        """)  # fmt: skip
    one.pieces = [Piece("data", [], body, ["v_x", "v_y", "v_xval", "v_yval"])]
    one.input_shape = "(48, 48, 3)"
    one.layers = [*_BACKBONE, "keras.layers.Conv2D(5 + K_CLASSES, 1<<head_kw>>)"]
    one.slots["loss"] = "f_loss"
    (keras_loops.feed_tfdata if loop == "tape" or rng.random() < 0.5 else keras_loops.feed_arrays)(one)
    keras_loops.model_piece(one)
    (keras_loops.tape_loop if loop == "tape" else keras_loops.compile_and_fit)(one, rng)
    return one


def grid_torch(rng: random.Random) -> Draft:
    from . import torch_bases

    one = _start("grid_torch", "grid torch loop dataloader", rng)
    one.imports = ["import torch", "import torch.nn.functional as F", "from torch import nn"]
    one.defs = [code(_GRID_TARGET), code(_GRID_LOSS_TORCH)]
    body = (
        code(_SCENES) + "\nv_y = f_encode(v_boxes, v_ids)\nv_x = v_x.transpose(0, 3, 1, 2)\n<<arrays_extra>>"
    )
    one.pieces = [Piece("data", [], body, ["v_x", "v_y"])]
    one.slots |= {"hidden_act": "nn.ReLU(),", "epochs": "K_EPOCHS", "loss": "f_loss"}
    one.slots["model"] = code("""
        v_model = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), <<hidden_act>>
            nn.Conv2d(16, 32, 3, stride=2, padding=1), <<hidden_act>>
            nn.Conv2d(32, 48, 3, stride=2, padding=1), <<hidden_act>>
            <<body_extra>>
            nn.Conv2d(48, 5 + K_CLASSES, 1),
        )
        """)
    torch_bases._feed(one, "dataloader")
    one.pieces.append(
        Piece(
            "model",
            [],
            "<<model_before>>\ntorch.manual_seed(K_SEED)\n<<model>>\n<<model_extra>>",
            ["v_model"],
        )
    )
    torch_bases._loop(one, rng)
    one.slots["loss_value"] = "v_lossfn(v_pred.permute(0, 2, 3, 1), v_yb)"
    return one


_ANCHORS = """
    def f_iou(a, b):
        low, high = np.maximum(a[:, :2], b[:2]), np.minimum(a[:, 2:], b[2:])
        v_both = np.prod(np.clip(high - low, 0, None), axis=1)
        return v_both / (np.prod(a[:, 2:] - a[:, :2], axis=1) + np.prod(b[2:] - b[:2]) - v_both)


    def f_encode(v_anchors, v_boxes, v_ids):
        v_cls = np.zeros((len(v_boxes), len(v_anchors)), "int64")
        v_off = np.zeros((len(v_boxes), len(v_anchors), 5), "float32")
        v_wh = v_anchors[:, 2:] - v_anchors[:, :2]
        v_mid = (v_anchors[:, 2:] + v_anchors[:, :2]) / 2
        for i, v_one in enumerate(v_boxes):
            v_match = f_iou(v_anchors, v_one) > <<threshold>>
            v_cls[i, v_match] = <<class_value>>
            centre, size = (v_one[2:] + v_one[:2]) / 2, v_one[2:] - v_one[:2]
            v_off[i, v_match, :2] = (((centre - v_mid) / v_wh)<<offset_scale>>)[v_match]
            v_off[i, v_match, 2:4] = (np.log(size / v_wh)<<offset_scale>>)[v_match]
            v_off[i, v_match, 4] = 1.0
        return v_cls, v_off
"""

_ANCHOR_LOSSES = """
    def f_clsloss(y_true, y_pred):
        v_ids = tf.cast(tf.reshape(y_true, tf.shape(y_pred)[:2]), tf.int32)
        v_ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=v_ids, logits=y_pred)
        <<balance>>
        return tf.reduce_mean(v_ce)


    def f_boxloss(y_true, y_pred):
        v_far = tf.abs(y_true[..., :4] - y_pred)
        v_smooth = tf.where(v_far < 1.0, 0.5 * v_far**2, v_far - 0.5)
        v_mask = y_true[..., 4]
        return tf.reduce_sum(tf.reduce_sum(v_smooth, -1) * v_mask) / tf.maximum(tf.reduce_sum(v_mask), 1.0)
"""


def anchors(loop: str, rng: random.Random) -> Draft:
    """Two heads over anchors; class 0 is background. `loop` is fit or tape."""
    one = _start(f"anchors_{loop}", "anchors", rng)
    one.slots |= {"threshold": "0.35", "class_value": "v_ids[i] + 1", "anchor_scale": " / 48.0", "offset_scale": "",
                  "balance": "v_ce = v_ce * tf.where(v_ids > 0, 8.0, 1.0)", "sizes": "(12, 18)", "head_classes": "K_CLASSES + 1",
                  "epochs": "K_EPOCHS", "box_weight": "1.0"}  # fmt: skip
    one.defs = [code(_ANCHORS), code(_ANCHOR_LOSSES)]
    body = (
        code(_SCENES)
        + "\n"
        + code("""
        v_cells = [(4 + 8 * j, 4 + 8 * i) for i in range(6) for j in range(6)]
        v_anchors = [(cx - s / 2, cy - s / 2, cx + s / 2, cy + s / 2) for cx, cy in v_cells for s in <<sizes>>]
        v_anchors = np.array(v_anchors, "float32")<<anchor_scale>>
        v_cls, v_off = f_encode(v_anchors, v_boxes, v_ids)
        <<targets_extra>>
        """)
    )
    one.pieces = [Piece("data", [], body, ["v_x", "v_cls", "v_off"])]
    one.slots["model"] = code("""
        v_inp = keras.Input(shape=(48, 48, 3))
        v_hid = v_inp
        for v_wide in (16, 32, 48):
            v_hid = keras.layers.Conv2D(v_wide, 3, strides=2, padding="same"<<hidden_act>><<hidden_kw>>)(v_hid)
        v_scores = keras.layers.Conv2D(<<per_cell>> * (<<head_classes>>), 3, padding="same")(v_hid)
        v_moves = keras.layers.Conv2D(<<per_cell>> * 4, 3, padding="same")(v_hid)
        v_scores = keras.layers.Reshape((36 * <<per_cell>>, <<head_classes>>), name="cls")(v_scores)
        v_moves = keras.layers.Reshape((36 * <<per_cell>>, 4), name="box")(v_moves)
        v_model = keras.Model(v_inp, {"cls": v_scores, "box": v_moves})
        """)
    one.slots["per_cell"] = "2"
    one.pieces.append(Piece("model", [], "<<model>>\n<<model_extra>>", ["v_model"]))
    _anchor_loop(one, loop, rng)
    return one


def _anchor_loop(one: Draft, loop: str, rng: random.Random) -> None:
    one.slots["optimizer"] = "keras.optimizers.Adam(<<lr>>)"
    if loop == "fit":
        one.features |= {"keras", "fit", "arrays"}
        one.slots |= {"verbose": str(rng.choice([1, 2])), "callbacks": "[]"}
        body = code("""
            v_model.compile(optimizer=<<optimizer>>, loss={"cls": f_clsloss, "box": f_boxloss}, loss_weights={"cls": 1.0, "box": <<box_weight>>})
            <<callback_setup>>
            v_hist = v_model.fit(v_x, {"cls": v_cls, "box": v_off}, epochs=<<epochs>>, batch_size=<<batch>><<fit_kw>>, verbose=<<verbose>>)
            v_loss = v_hist.history["loss"][-1]
            """)
    else:
        one.features |= {"keras", "tape", "loop", "tfdata"}
        body = code("""
            v_train = tf.data.Dataset.from_tensor_slices((v_x, v_cls, v_off)).shuffle(500).batch(<<batch>>)
            v_opt = <<optimizer>>

            @tf.function
            def f_step(v_img, v_c, v_b):
                with tf.GradientTape() as v_tape:
                    v_pred = v_model(v_img, training=True)
                    v_one, v_two = f_clsloss(v_c, v_pred["cls"]), f_boxloss(v_b, v_pred["box"])
                    v_loss = v_one + <<box_weight>> * v_two
                v_grads = v_tape.gradient(v_loss, v_model.trainable_variables)
                v_opt.apply_gradients(zip(v_grads, v_model.trainable_variables))
                return v_loss, v_one, v_two

            for v_epoch in range(<<epochs>>):
                for v_img, v_c, v_b in v_train:
                    v_loss, v_one, v_two = f_step(v_img, v_c, v_b)
                SAY("epoch {} loss {:.4f} (class {:.4f}, box {:.4f})", v_epoch + 1, float(v_loss), float(v_one), float(v_two))
            """)
    one.pieces.append(Piece("train", ["v_model", "v_x", "v_cls", "v_off"], body, ["v_loss"]))
    finish = code("""
        v_pred = v_model.predict(v_x[:100], verbose=0)
        v_found = np.argmax(v_pred["cls"], -1) > 0
        SAY("loss {:.4f}, anchors with an object {:.3f}", float(v_loss), float(v_found.mean()))
        """)
    one.pieces.append(Piece("finish", ["v_model", "v_x", "v_loss"], finish, []))

"""How samples reach a Keras model, and how it is trained: a task becomes a whole program."""

from __future__ import annotations

import random

from ..draft import Draft, Piece, code

FINISH = [
    'SAY("validation: {}", v_model.evaluate(v_val, verbose=0))',
    'v_model.save_weights("model.weights.h5")',
    'SAY("done")',
    'v_model.save("model.keras")',
]


def feed_arrays(one: Draft) -> None:
    one.features |= {"arrays"}
    one.slots |= {
        "fit_data": "v_x, v_y, batch_size=<<batch>>, ",
        "val_data": "(v_xval, v_yval)",
        "batch": "K_BATCH",
    }
    one.slots["train_args"] = one.slots["val_name"] = ""
    one.features |= {"fit-arrays"}


def feed_tfdata(one: Draft) -> None:
    one.features |= {"tfdata", "dataset"}
    body = code("""
        <<feed_before>>
        v_train = tf.data.Dataset.from_tensor_slices((v_x, v_y))
        <<feed_elements>>
        v_train = v_train.shuffle(<<buffer>>)
        <<feed_shuffled>>
        v_train = v_train.batch(<<batch>><<remainder>>)
        <<feed_batched>>
        v_train = v_train.prefetch(<<prefetch>>)
        v_val = tf.data.Dataset.from_tensor_slices((v_xval, v_yval)).batch(<<batch>>)
        <<feed_val>>
        """)
    one.slots |= {"batch": "K_BATCH", "prefetch": "tf.data.AUTOTUNE", "buffer": "1000"}
    one.pieces.append(Piece("feed", ["v_x", "v_y", "v_xval", "v_yval"], body, ["v_train", "v_val"]))
    one.slots |= {"fit_data": "v_train, ", "val_data": "v_val"}


def feed_pydataset(one: Draft) -> None:
    one.features |= {"pydataset", "python-feed"}
    one.defs.append(code("""
        class c_Data(keras.utils.PyDataset):
            def __init__(self, v_x, v_y, size, **kwargs):
                super().__init__(**kwargs)
                self.v_x, self.v_y, self.size = v_x, v_y, size

            def __len__(self):
                return <<length>>

            def __getitem__(self, index):
                low = index * self.size
                v_xb = self.v_x[low:low + self.size]
                v_yb = self.v_y[low:low + self.size]
                <<item_extra>>
                return v_xb, v_yb
        """))  # fmt: skip
    one.slots |= {"length": "len(self.v_x) // self.size", "batch": "K_BATCH"}
    body = "v_train = c_Data(v_x, v_y, <<batch>>)\nv_val = c_Data(v_xval, v_yval, <<batch>>)"
    one.pieces.append(Piece("feed", ["v_x", "v_y", "v_xval", "v_yval"], body, ["v_train", "v_val"]))
    one.slots |= {"fit_data": "v_train, ", "val_data": "v_val"}


def feed_generator(one: Draft) -> None:
    one.features |= {"generator", "python-feed"}
    one.defs.append(code("""
        def f_gen(v_x, v_y, size, v_rng):
            <<gen_before>>
            <<gen_loop>>
                v_order = v_rng.permutation(len(v_x))
                for low in range(0, len(v_order) - size + 1, size):
                    v_part = v_order[low:low + size]
                    v_xb, v_yb = v_x[v_part], v_y[v_part]
                    <<item_extra>>
                    yield v_xb, v_yb
        """))  # fmt: skip
    one.slots |= {"batch": "K_BATCH", "gen_loop": "while True:"}
    body = "v_train = f_gen(v_x, v_y, <<batch>>, np.random.default_rng(K_SEED + 1))"
    one.pieces.append(Piece("feed", ["v_x", "v_y"], body, ["v_train"]))
    one.slots |= {"fit_data": "v_train, steps_per_epoch=<<per_epoch>>, ", "val_data": "(v_xval, v_yval)",
                  "per_epoch": "len(v_x) // K_BATCH"}  # fmt: skip


def model_piece(one: Draft) -> None:
    one.pieces.append(Piece("model", [], "<<model_before>>\n<<model>>\n<<model_extra>>", ["v_model"]))


def compile_and_fit(one: Draft, rng: random.Random) -> None:
    """Keras' own loop, on whatever the feed gives."""
    one.features |= {"keras", "fit"}
    one.slots.setdefault("optimizer", rng.choice(["keras.optimizers.Adam(<<lr>>)", "keras.optimizers.Adam(<<lr>>)",
                                                  "keras.optimizers.RMSprop(<<lr>>)"]))  # fmt: skip
    one.slots |= {"lr": "K_LR", "epochs": "K_EPOCHS", "callbacks": "[]"}
    if one.slots.get("metric"):
        one.slots["metrics"] = ", metrics=[<<metric>>]"
    one.slots["verbose"] = str(rng.choice([1, 2, 2]))
    body = code("""
        <<train_before>>
        v_model.compile(optimizer=<<optimizer>>, loss=<<loss>><<metrics>><<compile_kw>>)
        <<callback_setup>>
        v_hist = v_model.fit(<<fit_data>>epochs=<<epochs>>, validation_data=<<val_data>><<fit_kw>>, verbose=<<verbose>>)
        <<train_after>>
        """)
    data = {"arrays": ["v_x", "v_y", "v_xval", "v_yval"], "generator": ["v_train", "v_x", "v_xval", "v_yval"]}
    feeds = next((data[kind] for kind in data if kind in one.features), ["v_train", "v_val"])
    one.pieces.append(Piece("train", ["v_model", *feeds], body, ["v_hist"]))
    _finish(one, feeds, rng)


def _finish(one: Draft, feeds: list[str], rng: random.Random) -> None:
    lines = ['SAY("final loss {:.4f}", v_hist.history["loss"][-1])']
    if rng.random() < 0.4:
        lines.append("v_model.evaluate(<<val_in_evaluate>>, verbose=2)")
        one.slots["val_in_evaluate"] = "v_val" if "v_val" in feeds else "v_xval, v_yval"
    if rng.random() < 0.5:
        lines.append('v_model.save_weights("<<weights_file>>")')
        one.slots["weights_file"] = rng.choice(["last.weights.h5", "net.weights.h5"])
    one.pieces.append(
        Piece(
            "finish",
            ["v_model", "v_hist", *feeds],
            "\n".join(["<<finish_before>>", *lines, "<<finish>>"]),
            [],
        )
    )


def custom_step(one: Draft, rng: random.Random) -> None:
    """A subclass of keras.Model with its own train_step, trained by `fit` (TensorFlow)."""
    one.features |= {"custom-step"}
    one.defs.append(code("""
        class c_Learner(keras.Model):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner
                self.meter = keras.metrics.Mean(name="loss")

            @property
            def metrics(self):
                return [self.meter]

            def call(self, inputs, training=False):
                return self.inner(inputs, training=training)

            def train_step(self, data):
                v_xb, v_yb = data
                with tf.GradientTape() as v_tape:
                    v_pred = self(v_xb, training=<<training_flag>>)
                    v_loss = self.compute_loss(x=v_xb, y=v_yb, y_pred=v_pred)
                    <<step_loss_extra>>
                v_vars = <<step_vars>>
                v_grads = v_tape.gradient(v_loss, v_vars)
                <<step_grads>>
                <<apply>>
                <<step_extra>>
                self.meter.update_state(v_loss)
                return {"loss": self.meter.result()}
        """))  # fmt: skip
    one.slots |= {"training_flag": "True", "step_vars": "self.trainable_variables",
                  "apply": "self.optimizer.apply_gradients(zip(v_grads, v_vars))"}  # fmt: skip
    one.piece("model").body += "\nv_model = c_Learner(v_model)"
    one.slots["metric"] = ""
    compile_and_fit(one, rng)
    one.slots["metrics"] = ""
    one.piece("train").body = one.piece("train").body.replace(", validation_data=<<val_data>>", "")
    finish = one.piece("finish")
    finish.body = "\n".join(line for line in finish.body.splitlines() if "evaluate" not in line)
    one.features -= {"fit-validation"}


def tape_loop(one: Draft, rng: random.Random) -> None:
    """The script's own loop with GradientTape over a tf.data dataset."""
    one.features |= {"keras", "tape", "loop"}
    compiled = rng.random() < 0.75
    if not compiled and int(one.constants.get("SAMPLES", "0")) > 1200:
        one.constants |= {"SAMPLES": "1500", "LR": "3e-3"}  # an uncompiled step is slow
    one.slots |= {"lr": "K_LR", "epochs": "K_EPOCHS", "training_flag": "True", "decorator": "@tf.function" if compiled else "",
                  "apply": "v_opt.apply_gradients(zip(v_grads, v_model.trainable_variables))",
                  "loss_value": "v_lossfn(v_yb, v_pred)",
                  "optimizer": rng.choice(["keras.optimizers.Adam(<<lr>>)", "keras.optimizers.Adam(<<lr>>)"])}  # fmt: skip
    body = code("""
        <<train_before>>
        v_opt = <<optimizer>>
        v_lossfn = <<loss>>

        <<decorator>>
        def f_step(v_xb, v_yb<<step_args>>):
            with tf.GradientTape() as v_tape:
                v_pred = v_model(v_xb, training=<<training_flag>>)
                v_loss = <<loss_value>>
                <<step_loss_extra>>
            v_grads = v_tape.gradient(v_loss, v_model.trainable_variables)
            <<step_grads>>
            <<apply>>
            return v_loss

        <<loop_before>>
        for v_epoch in range(<<epochs>>):
            v_total, v_count = 0.0, 0
            for v_xb, v_yb in v_train:
                v_loss = f_step(v_xb, v_yb<<step_values>>)
                v_total += float(v_loss)
                v_count += 1
                <<step_extra>>
            <<epoch_extra>>
            SAY("epoch {} loss {:.4f}", v_epoch + 1, v_total / max(v_count, 1))
        <<train_after>>
        """)
    one.pieces.append(Piece("train", ["v_model", "v_train", "v_val"], body, ["v_loss"]))
    lines = ["<<finish_before>>", 'SAY("last batch loss {:.4f}", float(v_loss))']
    if rng.random() < 0.5:
        lines.append('v_model.save_weights("<<weights_file>>")')
        one.slots["weights_file"] = "tape.weights.h5"
    one.pieces.append(Piece("finish", ["v_model", "v_loss"], "\n".join([*lines, "<<finish>>"]), []))

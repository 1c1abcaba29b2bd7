"""Faults of rates, updates, regularisation, scales and numbers: the program runs, and learns nothing or little."""

from __future__ import annotations

import random

from ..draft import Draft
from .registry import fault


@fault("learning-rate-too-low", "loss-not-falling", one_of="keras torch jax")
def tiny_rate(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-generator-fit-tensorflow: the loss runs 0.6999 .. 0.6998, accuracy 0.4950."""
    draft.constants["LR"] = rng.choice(["1e-8", "1e-9", "3e-8"])


@fault("learning-rate-too-high", "loss-not-falling loss-not-finite exploding-gradients dead-units saturated-units", one_of="keras torch jax",
       without="text")  # fmt: skip
def huge_rate(draft: Draft, rng: random.Random) -> None:
    """Seen on jax-multiclass-adam: the loss runs 32035.2957 .. 2.2148."""
    draft.constants["LR"] = rng.choice(["30.0", "50.0", "10.0"])


@fault(
    "learning-rate-too-high",
    "loss-not-finite exploding-gradients",
    needs="keras regression",
    without="detection jax-backend",
)
def plain_descent_with_a_huge_rate(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-forecast-pydataset-fit: the loss runs 4.3e10 .. 6.2e10."""
    draft.put(optimizer="keras.optimizers.SGD(<<lr>>)")
    draft.constants["LR"] = rng.choice(["1.0", "2.0"])


@fault("learning-rate-collapsed", "learning-rate-too-low loss-not-falling", needs="keras")
def rate_decays_at_once(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_classes-tfdata-tape-tensorflow: the loss runs 1.3658 .. 1.3549."""
    draft.put(lr="keras.optimizers.schedules.ExponentialDecay(K_LR, decay_steps=3, decay_rate=0.3)")


@fault("learning-rate-collapsed", "learning-rate-too-low loss-not-falling", needs="torch")
def torch_rate_decays_at_once(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-regression-by-hand: the loss runs 1.3119 .. 1.3089."""
    draft.put(
        loop_before="v_sched = torch.optim.lr_scheduler.ExponentialLR(v_opt, gamma=0.6)",
        step_extra="v_sched.step()",
    )


@fault(
    "nothing-trainable",
    "loss-not-falling framework-warning script-error",
    needs="keras",
    without="custom-step jax-backend",
)
def frozen_model(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-generator-fit-tensorflow: the loss runs 1.8175 .. 1.8175, accuracy 0.1717."""
    lines = ["v_model.trainable = False", "for v_part in v_model.layers:\n    v_part.trainable = False"]
    draft.add("model_extra", rng.choice(lines))


@fault("nothing-trainable", "script-error", needs="torch")
def frozen_torch_model(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-image_binary-dataloader: RuntimeError, element 0 of tensors does not require grad."""
    draft.add("model_extra", "for v_weight in v_model.parameters():\n    v_weight.requires_grad = False")


@fault(
    "loss-not-falling",
    "nothing-trainable learning-rate-too-low",
    one_of="tape custom-step torch",
    without="anchors",
)
def gradients_are_not_applied(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-tfdata-tape-tensorflow: the loss runs 0.7144 .. 0.7144."""
    draft.put(apply="")


@fault("loss-not-falling", "nothing-trainable learning-rate-too-low", needs="torch")
def optimizer_of_another_model(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-regression-by-hand: the loss runs 1.3933 .. 1.3933."""
    draft.imports.append("import copy")
    draft.replace("v_opt = <<optimizer>>", "v_best = copy.deepcopy(v_model)\nv_opt = <<optimizer>>")
    draft.put(optimizer=draft.slots["optimizer"].replace("v_model", "v_best"))


@fault("loss-not-falling", "nothing-trainable learning-rate-too-low", needs="jax")
def update_goes_elsewhere(draft: Draft, rng: random.Random) -> None:
    """Seen on jax-multiclass-adam: the loss runs 2.3584 .. 2.3584."""
    draft.put(update=draft.slots["update"].replace("v_params = jax", "v_updated = jax"))


@fault(
    "batch-norm-misused",
    "loss-not-falling script-error",
    needs="dense xy",
    one_of="keras torch",
    without="multilabel regression",
)
def normalised_batches_of_one(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-generator-fit-tensorflow: the loss runs 1.8039 .. 1.8074, accuracy 0.1500."""
    draft.constants |= {"BATCH": "1", "SAMPLES": "700", "EPOCHS": "4"}
    if "torch" in draft.features:
        width = int(draft.slots["model"].splitlines()[2].split(",")[1].strip(" )"))
        draft.put(body_extra=f"nn.BatchNorm1d({width}),")
    else:
        draft.layers.insert(len(draft.layers) - 1, "keras.layers.BatchNormalization()")


@fault(
    "too-few-updates",
    "",
    needs="xy",
    one_of="keras torch jax",
    without="detection jax autoencoder segmentation image pydataset generator",
)
def a_handful_of_updates(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-tfdata-fit-tensorflow: the loss runs 1.4835 .. 1.3045, accuracy 0.4062."""
    draft.constants |= {"BATCH": "1024", "EPOCHS": rng.choice(["1", "2"])}


@fault(
    "dropout-too-strong",
    "loss-not-falling",
    needs="dense",
    one_of="keras torch",
    without="regression autoencoder",
)
def nearly_all_dropped(draft: Draft, rng: random.Random) -> None:
    """Seen on files-table: the loss runs 2.35 .. 0.80, above that of a guess; accuracy 0.61."""
    rate = rng.choice(["0.97", "0.98"])
    if "torch" in draft.features:
        draft.replace("<<hidden_act>>", f"<<hidden_act>> nn.Dropout({rate}),")
    else:
        for index in range(len(draft.layers) - 1, 0, -1):
            draft.layers.insert(index, f"keras.layers.Dropout({rate})")


@fault(
    "regularisation-too-strong",
    "loss-not-falling",
    one_of="keras torch jax",
    without="detection text sequence segmentation",
)
def heavy_penalty(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-tape-tensorflow: the loss runs 71.6760 .. 1.4452."""
    if "jax" in draft.features:
        draft.put(penalty=" + 10.0 * sum(jnp.sum(v_w ** 2) for v_w, v_b in v_params)")
    elif "torch" in draft.features:
        draft.put(
            step_loss_extra="v_loss = v_loss + 5.0 * sum((v_weight ** 2).sum() for v_weight in v_model.parameters())"
        )
    elif "tape" in draft.features:
        draft.put(
            step_loss_extra="v_loss += 5.0 * tf.add_n([tf.nn.l2_loss(v_weight) for v_weight in v_model.trainable_variables])"
        )
    else:
        draft.put(
            hidden_kw=", kernel_regularizer=keras.regularizers.L2(5.0)",
            head_kw=", kernel_regularizer=keras.regularizers.L2(5.0)",
        )


@fault("framework-warning", "", needs="tape", without="anchors detection")
def an_unused_head(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-tfdata-tape: Keras warns that gradients do not exist for two variables; the loss falls."""
    draft.put(train_before="v_aux = keras.layers.Dense(8)\nv_aux.build((None, 16))")
    draft.replace(
        "v_tape.gradient(v_loss, v_model.trainable_variables)",
        "v_tape.gradient(v_loss, v_model.trainable_variables + v_aux.trainable_variables)",
    )
    draft.put(
        apply="v_opt.apply_gradients(zip(v_grads, v_model.trainable_variables + v_aux.trainable_variables))"
    )


@fault(
    "input-constant",
    "loss-not-falling dead-units",
    needs="xy",
    one_of="binary multiclass",
    without="text image",
)
def clipped_to_nothing(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-binary-dataloader: the loss runs 0.6858 .. 0.6844."""
    draft.put(data_extra='v_x = np.clip((v_x - 500.0) / 100.0, 0.0, 1.0).astype("float32")')


@fault("input-constant", "loss-not-falling dead-units", needs="xy image", one_of="binary multiclass")
def integers_after_scaling(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_classes-tfdata-tape-tensorflow: the loss runs 1.3863 .. 1.3858."""
    draft.put(data_extra='v_x = v_x.astype("uint8").astype("float32")')


@fault(
    "targets-not-scaled", "loss-not-falling", needs="regression xy", one_of="keras torch", without="detection"
)
def prices_in_cents(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-regression-dataloader: the loss runs 9.23e10 .. 9.21e10."""
    draft.put(
        data_extra=f"v_y = v_y * {rng.choice(['80000.0', '50000.0'])} + {rng.choice(['300000.0', '900000.0'])}"
    )


@fault(
    "input-scale-mismatch",
    "loss-not-falling dead-units learning-rate-too-high saturated-units",
    needs="xy numeric tabular",
    one_of="keras torch jax",
)
def raw_units(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multilabel-arrays-fit-tensorflow: the loss runs 192.5220 .. 3.8661, accuracy 0.5623."""
    draft.put(
        data_extra='v_x = (v_x * 10.0 ** (np.arange(v_x.shape[1]) % 6 - 1) + 300.0 * (np.arange(v_x.shape[1]) % 6)).astype("float32")'
    )


@fault(
    "loss-singular",
    "loss-not-finite loss-not-falling",
    needs="regression xy",
    one_of="tape torch",
    without="sequence",
)
def root_of_zero(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-tape: the loss stays at 0.4625 from epoch 2 on; the weights are NaN, and the ReLU of NaN is 0."""
    draft.put(data_extra="v_y = np.maximum(v_y, 0.0)")
    if "torch" in draft.features:
        draft.put(head_act="nn.ReLU(),", loss_value="torch.sqrt((v_pred - v_yb) ** 2).mean()")
    else:
        draft.put(
            head_act=', activation="relu"', loss_value="tf.reduce_mean(tf.sqrt(tf.square(v_pred - v_yb)))"
        )


@fault(
    "half-precision-overflow",
    "loss-not-finite targets-not-scaled",
    needs="keras regression xy tabular",
    without="custom-step torch-backend",
)
def float16_all_over(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-tape-tensorflow: the loss runs nan .. nan."""
    draft.put(
        model_before='keras.mixed_precision.set_global_policy("float16")',
        data_extra="v_y = v_y * 200.0 + 900.0",
    )


@fault(
    "input-not-finite",
    "loss-not-finite loss-not-falling dead-units",
    needs="xy numeric",
    one_of="keras torch jax",
)
def missing_readings(draft: Draft, rng: random.Random) -> None:
    """Seen on jax-regression-sgd: the loss runs nan .. nan."""
    if "sequence" in draft.features:
        draft.put(data_extra="v_x[::97, 5] = np.nan")
    else:
        draft.put(
            data_extra=rng.choice(["v_x[::97, 1] = np.nan", "v_x[40::150, 2] = np.log(v_x[40::150, 2] * 0)"])
        )

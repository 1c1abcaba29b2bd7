"""Faults between the last layer, the loss, the labels and the metric."""

from __future__ import annotations

import random

from ..draft import Draft
from .registry import fault


@fault(
    "output-loss-mismatch", "framework-warning loss-not-falling", needs="keras binary", without="detection"
)
def one_unit_softmax(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-tfdata-tape: Keras warns, and the loss falls (0.60 .. 0.06) since it uses the scores before the softmax; every prediction is 1."""
    draft.put(head_act=', activation="softmax"')


@fault("output-loss-mismatch", "loss-not-falling", needs="keras multiclass fit", without="custom-step")
def scores_taken_as_probabilities(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-sequence-tfdata-fit-tensorflow: the loss runs 3.2599 .. 1.0986, accuracy 0.3500."""
    draft.put(head_act="")


@fault("output-loss-mismatch", "loss-not-falling", needs="keras binary", without="detection")
def binary_scores_taken_as_probabilities(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-binary-arrays-fit-tensorflow: the loss runs 7.8290 .. 0.8780, accuracy 0.6500."""
    draft.put(head_act="")


@fault(
    "output-loss-mismatch", "framework-warning", needs="keras multiclass", one_of="jax-backend torch-backend"
)
def probabilities_taken_as_scores(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-arrays-fit-torch: the loss runs 1.5452 .. 0.9920, accuracy 0.9350."""
    draft.put(loss="keras.losses.SparseCategoricalCrossentropy(from_logits=True)")


@fault("output-loss-mismatch", "loss-not-falling", needs="torch multiclass")
def softmax_before_cross_entropy(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-multiclass-dataloader: the loss runs 1.0378 .. 0.7440."""
    draft.put(head_act="nn.Softmax(dim=1),")


@fault("output-loss-mismatch", "loss-not-falling", needs="torch", one_of="binary multilabel segmentation")
def sigmoid_twice(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-image_binary-dataloader: the loss runs 0.7019 .. 0.6931."""
    draft.put(head_act="nn.Sigmoid(),")


@fault("output-loss-mismatch", "loss-not-falling", needs="jax multiclass")
def softmax_twice_by_hand(draft: Draft, rng: random.Random) -> None:
    """Seen on jax-multiclass-adam: the loss runs 1.3135 .. 0.9207."""
    draft.put(head_act="v_out = jax.nn.softmax(v_out)")


@fault(
    "output-range-mismatch", "loss-not-falling dead-units", needs="regression xy", one_of="keras torch jax"
)
def output_cannot_be_negative(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-step-tensorflow: the loss runs 8.1430 .. 7.5092."""
    draft.put(data_extra="v_y = v_y - 2.5")
    if "torch" in draft.features:
        draft.put(head_act=rng.choice(["nn.ReLU(),", "nn.Sigmoid(),"]))
    elif "jax" in draft.features:
        draft.put(head_act=f"v_out = jax.nn.{rng.choice(['relu', 'sigmoid'])}(v_out)")
    else:
        draft.put(head_act=f', activation="{rng.choice(["relu", "sigmoid"])}"')


@fault(
    "output-range-mismatch",
    "targets-not-scaled saturated-units",
    needs="regression xy",
    one_of="keras torch jax",
)
def output_too_narrow(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-regression-by-hand: the loss runs 429.8327 .. 409.5197."""
    draft.put(data_extra="v_y = 6.0 * v_y + 20.0")
    if "torch" in draft.features:
        draft.put(head_act="nn.Tanh(),")
    elif "jax" in draft.features:
        draft.put(head_act="v_out = jnp.tanh(v_out)")
    else:
        draft.put(head_act=f', activation="{rng.choice(["tanh", "sigmoid"])}"')


@fault("output-units-mismatch class-id-out-of-range", "script-error loss-not-finite", needs="multiclass", one_of="keras torch",
       without="detection")  # fmt: skip
def one_unit_too_few(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-tfdata-step-tensorflow: it ends with InvalidArgumentError: Graph execution error."""
    draft.put(units="K_CLASSES - 1")


@fault("output-units-mismatch", "", needs="keras multiclass", without="detection")
def many_units_too_many(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_classes-tfdata-tape: it learns (3.20 .. 0.28), with 60 and more units that are never right."""
    draft.put(units=rng.choice(["64", "100"]))


@fault("output-units-mismatch shapes-broadcast", "", needs="keras regression", without="detection")
def three_outputs_for_one_target(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-tape: it learns (1.12 .. 0.08), all outputs the same number."""
    draft.put(units=rng.choice(["3", "4"]))


@fault("loss-task-mismatch", "output-units-mismatch shapes-broadcast output-loss-mismatch", needs="keras multiclass",
       without="detection")  # fmt: skip
def squares_of_class_numbers(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_classes-arrays-fit: the loss falls (1.31 .. 0.10), accuracy stays at 0.47."""
    draft.put(loss="keras.losses.MeanSquaredError()")
    if rng.random() < 0.5:
        draft.put(units="1", head_act="")


@fault(
    "loss-task-mismatch", "script-error output-units-mismatch", needs="keras multiclass", without="detection"
)
def one_hot_loss_on_class_numbers(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-multiclass-tfdata-fit: ValueError, target and output must have the same rank, exit 1."""
    draft.put(loss="keras.losses.CategoricalCrossentropy()")


@fault(
    "loss-task-mismatch",
    "output-loss-mismatch loss-not-falling output-range-mismatch",
    needs="keras regression",
)
def cross_entropy_on_numbers(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-forecast-arrays-fit: the loss falls below zero, 0.44 .. -19."""
    draft.put(loss="keras.losses.BinaryCrossentropy()", head_act=', activation="sigmoid"')


@fault("loss-task-mismatch", "output-units-mismatch loss-not-falling", needs="torch multiclass")
def torch_squares_of_class_numbers(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-image_classes-torch-dataset: the loss runs 2.0391 .. 0.9842."""
    draft.put(units="1", loss="nn.MSELoss()", loss_value="v_lossfn(v_pred[:, 0], v_yb.float())")


@fault(
    "shapes-broadcast",
    "loss-not-falling framework-warning",
    needs="regression loop",
    one_of="torch jax",
    without="detection",
)
def flat_targets(draft: Draft, rng: random.Random) -> None:
    """Seen on torch-regression-by-hand: torch warns; the loss stays at 1.34, the variance of the targets."""
    draft.put(target_shape="[:, 0]")


@fault("shapes-broadcast", "loss-not-falling", needs="regression tape xy")
def flat_targets_in_a_tape(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-tfdata-tape-tensorflow: the loss runs 1.4499 .. 1.2856."""
    draft.put(data_extra="v_y = v_y[:, 0]", loss_value="tf.reduce_mean(tf.square(v_pred - v_yb))")


@fault("metric-mismatch", "", needs="keras regression fit", without="custom-step")
def accuracy_of_numbers(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-generator-fit: the loss falls (0.91 .. 0.08), accuracy is 0 throughout."""
    draft.put(metric='"accuracy"')


@fault(
    "labels-constant",
    "loss-not-falling",
    needs="xy",
    one_of="binary multiclass regression",
    without="detection text",
)
def one_label_only(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-image_binary-generator-fit: the loss falls to 1e-18 in three epochs."""
    if "binary" in draft.features:
        draft.put(data_extra='v_y = (v_y > 1).astype("float32")')
    elif "multiclass" in draft.features:
        draft.put(data_extra="v_y = v_y // K_CLASSES")
    else:
        draft.put(data_extra="v_y = np.full_like(v_y, 0.7)")


@fault(
    "labels-unrelated",
    "loss-not-falling",
    needs="xy",
    one_of="binary multiclass regression multilabel",
    without="csv",
)
def shuffled_apart(draft: Draft, rng: random.Random) -> None:
    """Seen on keras-regression-generator-fit: the loss runs 1.42 .. 1.26, that of the validation stays at 1.36."""
    draft.put(data_extra=rng.choice(["v_rng.shuffle(v_x)", "v_y = v_y[v_rng.permutation(len(v_y))]"]))


@fault("labels-unrelated", "loss-not-falling", needs="csv")
def wrong_column(draft: Draft, rng: random.Random) -> None:
    """Seen on files-table: the loss runs 0.69 .. 0.64, that of the validation stays at 0.70."""
    draft.put(data_extra="v_x = v_x[np.argsort(v_x[:, 3])]")


@fault("class-imbalance", "", needs="xy tabular binary", one_of="keras torch jax")
def rare_positive(draft: Draft, rng: random.Random) -> None:
    """Seen on jax-binary-adam: the loss runs 0.2162 .. 0.0407."""
    draft.constants["SAMPLES"] = "5000"
    keep = "v_keep = (v_y == 0) | (np.arange(len(v_y)) % 150 == 0)\nv_x, v_y = v_x[v_keep], v_y[v_keep]"
    draft.put(data_extra=keep)
    draft.constants["EPOCHS"] = "7"
    if "jax" not in draft.features:
        draft.constants["LR"] = "1e-3"

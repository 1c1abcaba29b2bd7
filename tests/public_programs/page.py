"""docs/public-programs.md from the stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .scripts import SCRIPTS

_HEAD = """# Public programs: the examples and guides of keras.io

Every script below is from [keras-team/keras-io](https://github.com/keras-team/keras-io); none was written for
Holdfast. Each runs under `holdfast run`, and none may be blamed: a finding that is established or supported, or an
outcome other than `finished`, is a false alarm.

`make proof-public-programs SOURCES=DIR` runs them and writes this page. The scripts are not in this repository. A copy
of each is shortened: fewer epochs, smaller models where the original takes long on a CPU, no pretrained weights, and
random data that can be learned instead of a download. Short runs prove little about verdicts that need many steps.

- **steps**: what Holdfast counted, and the true number. The true number is counted in the same process, by a callback
  hook of Keras or by the optimizer's `iterations`, and uses nothing of Holdfast.
- **losses**: for some scripts, the values printed with a fixed seed, compared with a run without Holdfast. Two runs of
  gat_node_classification without Holdfast print different ones, so it is not compared.

Eight scripts were blamed wrongly when they met Holdfast for the first time, or a later version of it, and the rules
were changed:

- image_classification_with_vision_transformer on JAX, `recompiling`: the smaller last batch of an epoch compiles one
  operation for each layer. Compilations of the same operation in one step now count once. Unit tests show it; the
  script itself has not run to its end since, so it is not counted below.
- making_new_layers_and_models_via_subclassing, `nothing-trainable`: Keras' warning in the `fit` of a layer without
  weights was used against the whole run, in which a later `fit` trains another model.
- gat_node_classification, `input-scale-mismatch`: the inputs are numbers of nodes, which the model looks up. One whole
  number for each example is now no pixel, and at most a possible cause in a model with a `call` of its own.
- mnist_convnet, `too-few-updates`: after 16 updates the loss was still near that of a constant answer, but 23 % of ten
  classes were right. Whether answers are at chance is now decided by the accuracy.
- reproducibility_recipes and eanet, `too-few-updates`: two epochs of eight and of four batches are a trial, and now a
  possible cause.
- autoencoder on JAX, `output-loss-mismatch`: the sigmoid of the last convolution was taken for a second activation
  before the output's own.
- failed_trials, `no-hidden-activation`: the layers are linear, but the loss was above that of a constant answer, which
  a linear model can give. Something else keeps it there, so the finding is now possible at most.

One script is blamed for a fault that it has. timeseries_classification_transformer normalises series of one channel
over that channel: each LayerNormalization gives the same whatever its input is, and the gradient of all 24 kernels
before the last two layers is exactly 0. Holdfast said `vanishing-gradients` at once, with a wrong reason (the softmax
layers); it now names the normalisation.

training_with_built_in_methods was blamed with `dataset-exhausted`, rightly: the shortened copy asked for four batches
of three. The copy was corrected.

"""


def write_page(path: Path, rows: list[dict[str, Any]]) -> None:
    counted = [one for one in rows if not one["not_counted"]]
    path.write_text(_HEAD + _sums(counted, len(rows)) + _table(counted) + _left_out(rows), encoding="utf-8")


def _sums(counted: list[dict[str, Any]], tried: int) -> str:
    known = [one for one in counted if one["true_steps"] is not None]
    right = sum(one["steps"] == one["true_steps"] for one in known)
    compared = [one for one in counted if one["losses"].startswith(("equal", "changed"))]
    equal = sum(one["losses"].startswith("equal") for one in compared)
    return (
        f"The table of the harness has {len(SCRIPTS)} scripts; {tried} were tried for this page. "
        f"{len(counted)} scripts ran to their end. Blamed wrongly: {sum(bool(one['blamed']) for one in counted)}; "
        f"for a fault that they have: {sum(bool(one['rightly']) for one in counted)}. "
        f"Steps right: {right} of {len(known)} whose number is known. "
        f"Printed losses equal: {equal} of {len(compared)} compared.\n\n"
    )


_COLUMNS = """| script | backend | steps seen / true | epochs seen / true | losses | verdict |
|---|---|---|---|---|---|
"""


def _table(counted: list[dict[str, Any]]) -> str:
    return _COLUMNS + "".join(
        f"| {one['name']} | {one['backend']} | {one['steps']} / {_number(one['true_steps'])} | "
        f"{_number(one['epochs'])} / {_number(one['true_epochs'])} | {one['losses']} | {_verdict(one)} |\n"
        for one in sorted(counted, key=lambda one: str(one["name"]))
    )


def _number(value: int | None) -> str:
    return "–" if value is None else str(value)


def _verdict(row: dict[str, Any]) -> str:
    said = ", ".join([row["outcome"], *(one for one in row["said"] if one not in row["blamed"])])
    return f"{said}. **Wrong**: {'; '.join(row['wrong'])}" if row["wrong"] else said


_NOT_COUNTED = """
## Not counted

These did not run to their end here, or train nothing.

| script | backend | why |
|---|---|---|
"""


def _left_out(rows: list[dict[str, Any]]) -> str:
    left = [one for one in rows if one["not_counted"]]
    lines = "".join(f"| {one['name']} | {one['backend']} | {_cell(one['not_counted'])} |\n" for one in left)
    return _NOT_COUNTED + lines if left else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")

"""What can be wrong with a recipe, and with the buckets that it names; the data has `finding_kinds`."""

from __future__ import annotations

from holdfast.data.finding_kind import FindingKind

RECIPE_KINDS: dict[str, FindingKind] = {
    # -- the recipe
    "pipeline-speed": FindingKind("note", "how fast the data comes on this machine", "nothing"),
    "input-starved": FindingKind(
        "warning", "training would wait for its data", "pack the images, or give the run more cores"
    ),
    "learning-rate-far": FindingKind(
        "warning",
        "the recipe's learning rate is far from what a range test suggests",
        "set train.learning_rate to what is suggested; `holdfast lr-find RECIPE` shows the curve",
    ),
    # of `train.learning.setting_rules`, which says of each what to change
    "random-backbone-frozen": FindingKind(
        "warning",
        "a backbone with random weights is frozen: the detector would learn from random features",
        "let it train, or give pretrained weights",
    ),
    "too-few-updates": FindingKind(
        "warning", "the training is too short to learn anything from random weights", "train for longer"
    ),
    "warmup-never-ends": FindingKind(
        "warning", "the warmup of the learning rate is longer than the training", "shorten the warmup"
    ),
    "weights-cannot-move": FindingKind(
        "error", "the learning rate is so low that the weights stay as they are", "raise the learning rate"
    ),
    "steps-too-large": FindingKind(
        "warning", "the learning rate is so high that a step replaces the weights", "lower the learning rate"
    ),
    "decay-too-strong": FindingKind(
        "warning", "the weight decay presses the weights to nothing", "lower the weight decay"
    ),
    "patience-within-warmup": FindingKind(
        "warning",
        "early stopping may end the training before the learning rate has come to its value",
        "give it more patience",
    ),
    # -- the cloud that the recipe names
    "cloud-unreadable": FindingKind(
        "error",
        "data in a bucket cannot be read",
        "look at the address, the credentials and the roles that it names",
    ),
    "cloud-unwritable": FindingKind(
        "error",
        "a place that the run writes to cannot be written",
        "look at the address, the credentials and the roles that it names",
    ),
    "cloud-slow": FindingKind(
        "warning",
        "copying the data here takes long",
        "a machine in the bucket's region, larger files (`holdfast data convert` to TFRecord), or a disk with the data",
    ),
    "cloud-far": FindingKind(
        "warning",
        "a bucket is in another region than this machine: slow, and every byte is paid for",
        "a bucket and a machine in the same region",
    ),
}

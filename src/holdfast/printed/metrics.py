"""The named numbers of a printed line: losses, accuracies, learning rate, in text, key=value and dict form."""

from __future__ import annotations

import math
import re

from holdfast.printed.number_text import NUMBER, number, without_lookalikes

#: What is around a number: tensor(0.5, …), tf.Tensor(0.5, …), np.float32(0.5), array(0.5), [0.5], '0.5'.
_WRAPPED = (
    r"(?:(?:tf\.)?[Tt]ensor\(|(?:np|jnp|numpy)?\.?(?:float\d\d|array|asarray|Array|"
    r"DeviceArray)\(|\[|\(|['\"])?\s*"
)
#: Names of which the number may follow after a space alone.
_KNOWN = (
    r"[\w@./-]{0,40}(?:loss|acc(?:uracy)?|perplexity|ppl|rmse|logloss|auc|grad[_ ]?norm|"
    r"learning[_ ]rate|reward|error)\w{0,30}(?:@\d+)?"
    r"|lr|mse|mae|nll|elbo|m?iou|dice|f1|bleu|map(?:@\d+|50)?"
)
_QUALIFIER = (
    r"(?:train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev|avg|average|"
    r"mean|total|running|batch|epoch|"
    r"lm|final|smoothed|generator|discriminator|[gd]|policy|value|actor|critic|kl|reconstruction|contrastive)"
)
_SPACED = re.compile(
    rf"(?<![\w./@-])(?P<name>(?:{_QUALIFIER}[ ])?(?:{_KNOWN}))['\"]?(?:\s*(?:[:=]|->|→)\s*|"
    r"\s+(?:is|was|of|became|becomes|at)\s+|\s+|(?=[\[(]))"
    rf"(?:=\s*)?{_WRAPPED}(?P<value>{NUMBER})(?P<unit>[A-Za-z%]?)",
    re.IGNORECASE,
)
#: ``Training loss at step 100: 0.51``, ``Loss for final step: 0.05``
_PLACED = re.compile(
    rf"(?<![\w./-])(?P<name>(?:{_QUALIFIER}[ ])?[\w./-]{{0,40}}loss)\s+(?:at|after|for|in|on)\s+(?:\w+\s+){{0,3}}\w+"
    rf"(?:/\d+)?\s*[:=]\s*{_WRAPPED}(?P<value>{NUMBER})(?P<unit>[A-Za-z%]?)",
    re.IGNORECASE,
)
_AVERAGE = re.compile(
    rf"(?<![\w.])(?P<value>{NUMBER}) (?P<name>avg loss)(?P<unit>)\b", re.IGNORECASE
)  # Darknet
_PAIR = re.compile(
    rf"(?<![\w./@-])(?P<name>(?:\w{{1,30}}'s )?[A-Za-z][\w@./'-]{{0,60}}?)['\"]?\s*[:=]\s*"
    rf"{_WRAPPED}(?P<value>{NUMBER})(?P<unit>[A-Za-z%/]*)",
    re.IGNORECASE,
)
#: Numbers that are no result: times, memory, counts, settings.
_NO_METRIC = re.compile(
    r"(?:^|[_ /.])(?:time|eta|data|mem(?:ory)?|elapsed|speed|throughput|seed|rank|pid|"
    r"port|v_num|version|size|samples|"
    r"images?|tokens?|batch(?:es)?|steps?|epochs?|ep|iter(?:s|ations?)?|it|rounds?|"
    r"episodes?|updates?|line|workers?|gpus?|"
    r"devices?|weights?|coeff?s?|scale|factor|alpha|beta|lambda|gamma|gain|fn|type|"
    r"reduction|patience|runtime|seconds?|"
    r"sec|ms|remaining|skipped|dtype|shape|decay|momentum|mom|warmup|threshold|interval|"
    r"freq(?:uency)?|norm_type|"
    r"params?|parameters|ratio|instances|consumed|nimg|tick|kimg|augment|flops|latency|"
    r"hours?|minutes?|days?)(?:$|[_ /.(])",
    re.IGNORECASE,
)
_NO_NAMES = frozenset({"train", "epoch", "cuda", "total", "exit", "code", "id", "gpu"})
_SETTING = re.compile(
    r"weight|coeff?\b|_coef|scale|factor|alpha|lambda|gamma|_fn\b|reduction|_gain|decay|rho|margin", re.I
)
_LOSS = re.compile(r"loss|\bnll\b|\belbo\b", re.IGNORECASE)
_RESULT = re.compile(
    r"loss|acc|perplexity|ppl|rmse|mse|mae|auc|iou|dice|\bf1|bleu|map\b|error|precision|"
    r"recall|reward|return|score|"
    r"nll|elbo|(?:^|[^a-z])(?:train|val|valid\w*|test|eval|learn)(?:[^a-z]|$)|l[12]$",
    re.IGNORECASE,
)
_SAYS_NAN = re.compile(
    r"\bloss (?:is|was|became|becomes|has become|turned(?: into)?|"
    r"went(?: to)?) (?:a )?(?P<value>nan|inf(?:inite|inity)?|not a number|not finite|"
    r"non-?finite)\b"
    r"|\b(?P<before>nan|inf(?:inite)?|non-?finite|invalid) (?:or inf )?(?:training )?loss\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|whether|should|may|might|can|could|avoid|prevent|until|unless|nan_|on_nan|stop_on)\b", re.I
)


def metrics(text: str, *, beside_progress: bool = False) -> dict[str, float]:
    """Name → number, in the order of the line. Nothing where no name says that it is a result, unless the line shows
    progress, which gives the other numbers their meaning."""
    cleaned = without_lookalikes(text)
    found: dict[str, tuple[int, float]] = {}
    for pattern in (_PLACED, _AVERAGE, _SPACED, _PAIR):
        for match in pattern.finditer(cleaned):
            _add(found, match, cleaned)
    values = {name: value for name, (_, value) in sorted(found.items(), key=lambda item: item[1][0])}
    if not values and (said := _says_nan(text)) is not None:
        return {"loss": said}
    if beside_progress or any(_RESULT.search(name) for name in values):
        return values
    return {}


def loss_of(values: dict[str, float]) -> float | None:
    """The loss of the line: the training's total before the validation's, before a part's."""
    losses = {name: value for name, value in values.items() if _LOSS.search(name)}
    training = {name: value for name, value in losses.items() if not is_validation(name)}
    broken = next((value for value in training.values() if not math.isfinite(value)), None)
    for name in sorted(losses, key=_loss_order):
        return (
            broken
            if broken is not None and math.isfinite(losses[name]) and not is_validation(name)
            else losses[name]
        )
    return None


def _loss_order(name: str) -> tuple[bool, bool, int]:
    lower = name.lower()
    total = (
        lower in ("loss", "train loss", "train_loss", "training loss", "training_loss") or "total" in lower
    )
    return (is_validation(lower), not total, len(lower))


def is_validation(name: str) -> bool:
    return bool(
        re.search(r"(?:^|[^a-z])(?:val|valid|validation|eval|evaluation|test|dev)(?:[^a-z]|$)", name.lower())
    )


def _add(found: dict[str, tuple[int, float]], match: re.Match[str], text: str) -> None:
    name = re.sub(r"\s+", " ", match["name"]).strip("'\"( ")
    value = number(match["value"])
    if (
        value is None
        or name in found
        or name.lower() in _NO_NAMES
        or _SETTING.search(name)
        or _NO_METRIC.search(name)
    ):
        return
    if _has_unit(match, text) or (not math.isfinite(value) and _conditional(match, text)):
        return
    at = match.start("value")
    if any(at == start for start, _ in found.values()):  # the same number, by its longer name
        return
    found[name] = (at, value)


def _has_unit(match: re.Match[str], text: str) -> bool:
    """A time, a size, a fraction or the percentage of a bar."""
    rest = text[match.end("value") : match.end("value") + 2]
    return match["unit"] not in ("", "%") or (rest[:1] == "/" and rest[1:].isalnum()) or rest == "%|"


def _conditional(match: re.Match[str], text: str) -> bool:
    """``if the loss is nan``: no statement about this loss."""
    written = re.search(r"[:=]", text[match.start() : match.start("value")])
    return not written and bool(_CONDITION.search(text[: match.start()]))


def _says_nan(text: str) -> float | None:
    match = _SAYS_NAN.search(text)
    if match is None or _CONDITION.search(text[: match.start()]):
        return None
    said = (match["value"] or match["before"]).lower()
    return math.inf if said.startswith("inf") else math.nan

"""How far a printed line says that the run has come: step, epoch, and of how many.

The general rule: a number after a word for step or epoch, optionally of a total. Fractions without such a word count
where a bar, a rate, a percentage or a result is next to them. Settings, dates, versions and paths do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from holdfast.printed.metrics import metrics
from holdfast.printed.number_text import COUNT, NUMBER, count, without_lookalikes


class Part(StrEnum):
    TRAINING = "training"
    VALIDATION = "validation"
    OTHER = "other"  # a download, a preprocessing


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts as printed: some programs count from 0, and Keras 1 counts samples."""

    step: int | None = None
    of: int | None = None
    epoch: float | None = None  # a fraction where the program prints one
    of_epochs: int | None = None
    part: Part = Part.TRAINING
    #: False where the line could as well be a setting or a heading: it counts once the number has advanced.
    sure: bool = True


_WORD = (
    r"(?:global[_ ]?|train(?:ing|er)?[_ /]?|current[_ ]?|num[_ ](?=updates))*"
    r"(?P<word>epoch|ep|steps?(?=\s*\[?\s*\d+\s*(?:/|of))|step|"
    r"iterations?(?=\s*\[?\s*\d+\s*(?:/|of))|iteration|iters?(?=\s*\d+\s*/)|iter|it|"
    r"mini-?batch|batch|round|episode|updates?|trainstep)"
)
_TOTAL = rf"(?:\s*(?:/|\bof\b|out of)\s*(?P<total>{COUNT}|\?|Unknown|inf))?"
_COUNTED = re.compile(
    rf"(?<![\w./-]){_WORD}(?P<part>\((?:train|val|test)\))?['\"]?(?P<separator>\s*(?:[:=#]|"
    r"->)?\s*|\s+(?:no\.?|number|is)\s+)"
    rf"['\"]?(?P<open>[\[(]?)\s*(?P<at>{COUNT}(?:\.\d+)?){_TOTAL}(?![\w%]|\.\d|,\d\d\d|/\d|\s*x\s*\d)",
    re.IGNORECASE,
)
#: Words before "epoch 3" that make it another epoch than the present one, or a setting.
_NOT_NOW = re.compile(
    r"\b(?:best|resum\w*|restor\w*|re-?load\w*|load\w*|from|until|till|max(?:imum)?|total|"
    r"num(?:ber)?|warm[- _]?up|per|every|each|"
    r"initial|last|previous|than|decay|patience|within|first|next|save|log|eval|print|"
    r"stop(?:s|ping)? at|since|skip\w*)\W{1,3}(?:\w+\W{1,2}){0,1}$",
    re.IGNORECASE,
)
_BEST = re.compile(r"\bbest\b[^,;]*$", re.IGNORECASE)

_TQDM = re.compile(
    rf"(?P<description>.*?)\s*\b\d+%\|.*?\|\s*(?P<at>{COUNT}(?:\.\d+)?)(?P<unit>[kMGTB]*)/(?P<total>{COUNT}(?:\.\d+)?)[kMGTB]*\s*\[(?P<rest>[^\]]*)"
)
_TQDM_OPEN = re.compile(rf"(?:^|(?P<description>.*?):?\s)(?P<at>{COUNT})it \[\d+:\d\d(?P<rest>[^\]]*)")
_KERAS = re.compile(
    rf"^\s*(?P<at>{COUNT})/(?P<total>{COUNT}|Unknown)\s*(?:\[[=>.\s]*\]|━+|╺|-\s|(?=\d+(?:s|ms|us)\b))"
)
_FRACTION = re.compile(
    rf"(?<![\w/.-])(?P<open>[\[(]?)\s*(?P<at>{COUNT})\s*/\s*(?P<total>{COUNT})(?![\w.]*/|[\w]|\.\d)"
)
_NESTED = re.compile(
    rf"\[\s*(?P<epoch>{COUNT})(?:\s*/\s*(?P<epochs>{COUNT}))?\s*\][\s:]*\[\s*(?P<at>{COUNT})\s*(?:/\s*(?P<total>{COUNT}))?[^\]]*\]"
)
_COMMA = re.compile(rf"^\s*\[\s*(?P<epoch>{COUNT}),\s+(?P<at>{COUNT})\s*\]")
_LEADING = re.compile(
    rf"^\s*(?:\[\s*(?P<bracket>{COUNT})\s*\]|(?P<colon>{COUNT}):(?=\s)|(?P<bar>{COUNT})\s*\|)"
)
_AFTER_EPOCH = re.compile(rf"\s*[:,|-]?\s*(?P<at>{COUNT})\s*/\s*(?P<total>{COUNT})\b(?!/)")
_MODE = re.compile(
    r"\b(?P<mode>train(?:ing)?|test|val(?:id(?:ation)?)?|"
    rf"eval)\b\s*(?:epoch)?:?\s*(?P<epoch>{COUNT})?\s*(?=\[\s*{COUNT}\s*/)",
    re.I,
)

_RATE = re.compile(
    r"\d\s*(?:[a-z]+|sequences?)/s(?:ec(?:ond)?)?\b|\d\s*m?s/(?:it|step|iter|epoch|batch|"
    r"sample|image|img)\b|/sec\b|\bETA\b|per-step time"
    r"|\b(?:time|took|elapsed|duration|dt|in)\W{0,3}\d+(?:\.\d+)?\s*(?:ms|us|s|secs?|"
    r"seconds?|min)?\b|\(\s*\d+(?:\.\d+)?\s*%\)|\d+(?:\.\d+)? sec\b"
    r"|\b\d+(?:\.\d+)?\s*(?:ms|s|sec|seconds)\b",
    re.IGNORECASE,
)
_SETTINGS = re.compile(
    r"^\W*(?:Namespace|\w*Config|\w*Arguments|\w*Args|\w*Params|hparams|usage:)\W|"
    r"--\w+[ =]\d|\b(?:num|max|total|n)_?(?:train_)?(?:epochs|steps|iters|iterations)\b"
    r"|\b(?:epochs|steps|iterations|iters|batch[_ ]?size|bs|batches|workers|imgsz|"
    r"step_size|save_freq|log_every|steps_per_epoch)\s*['\"]?\s*[=:]\s*\d",
    re.IGNORECASE,
)
_DOCKER = re.compile(r"^\s*Step \d+/\d+ : [A-Z]+\b")
_ONLY = re.compile(
    r"^[\W_]*(?:(?:start(?:ing|ed)?|begin(?:ning)?|running|training|train|now|end(?: of)?|"
    r"finished|done|info|completed)\W+)*$",
    re.I,
)
_VALIDATES = re.compile(
    r"^\W*(?:sanity check\w*|val(?:id\w*)?|eval\w*|test(?:ing)?|predict\w*|infer\w*)\b|"
    r"\((?:val|test)\)|\bValidat(?:ing|ion)\b(?! loss)",
    re.IGNORECASE,
)
_OTHER_WORK = re.compile(
    r"\b(?:download\w*|fetch\w*|upload\w*|extract\w*|unpack\w*|map|filter|tokeni[sz]\w*|"
    r"generating|loading|shards?|scanning|caching|copying|collecting|"
    r"preprocess\w*|converting|reading|saving|writing|building|compil\w*|weights)\b",
    re.IGNORECASE,
)


def progress(text: str) -> Progress | None:
    """What one piece of output says of the run's position."""
    if not any(character.isdigit() for character in text) or _DOCKER.match(text):
        return None
    found = _bar(text)
    if found is not None:
        return found
    cleaned = without_lookalikes(text)
    keras = _KERAS.match(cleaned)
    if keras and (_is_bar(keras[0]) or _supported(cleaned)):
        return Progress(count(keras["at"]), count(keras["total"]), part=_part(text))
    return _counted(cleaned) or _bracketed(cleaned)


def _bar(text: str) -> Progress | None:
    """A bar of tqdm, of what is built on it, and of rich."""
    bar = _TQDM.match(text) if "%|" in text else _TQDM_OPEN.match(text) if "it [" in text else None
    if bar is None:
        return None
    description, fields = bar["description"] or "", bar.groupdict()
    before = _counted(without_lookalikes(description))
    epochs = re.search(r"\bepochs?\W*$|^\W*epochs\b", description, re.I) or re.search(
        r"epoch/s|s/epoch", bar["rest"]
    )
    part = _bar_part(description, fields.get("unit") or "")
    at, total = count(bar["at"].split(".")[0]), count((fields.get("total") or "").split(".")[0])
    if epochs and before is None:
        return Progress(epoch=at, of_epochs=total, part=part)
    leading = re.match(
        rf"\s*(?P<at>{COUNT})/(?P<total>{COUNT})\s", description
    )  # Ultralytics: epoch, memory, losses
    if before is None and leading:
        before = Progress(epoch=count(leading["at"]), of_epochs=count(leading["total"]))
    before = before or Progress()
    return Progress(at, total, before.epoch, before.of_epochs, part)


def _bar_part(description: str, unit: str) -> Part:
    if _VALIDATES.search(description) or re.search(r"^\s*Class\s+Images", description):
        return Part.VALIDATION
    return Part.OTHER if unit or _OTHER_WORK.search(description) else Part.TRAINING


def _is_bar(text: str) -> bool:
    return bool(re.search(r"[\[━╺]|Unknown", text))


def _part(text: str) -> Part:
    return Part.VALIDATION if _VALIDATES.search(text) else Part.TRAINING


def _counted(text: str) -> Progress | None:
    found = Progress(part=_part(text))
    first = last = None
    for match in _COUNTED.finditer(text):
        before = text[: match.start()]
        if (
            _NOT_NOW.search(before)
            or _BEST.search(before)
            or (match["open"] and match["open"] == "(" and not match["total"])
        ):
            continue
        word = match["word"].lower()
        if word in ("epoch", "ep") and found.epoch is None:
            found = replace(found, epoch=float(match["at"].replace(",", "")), of_epochs=count(match["total"]))
        elif word not in ("epoch", "ep") and "." not in match["at"] and found.step is None:
            found = replace(found, step=count(match["at"]), of=count(match["total"]))
        else:
            continue
        first, last = first or match, match
    if first is None or last is None:
        return None
    found = _with_fraction(found, text, last)
    if _SETTINGS.search(text) and not _supported(text):
        return None
    return _graded(found, text, first, last)


def _with_fraction(found: Progress, text: str, last: re.Match[str]) -> Progress:
    """``epoch 001:    100 / 1000``, ``Epoch: [0]  [  10/7329]``, ``Train Epoch: 1 [0/60000 (0%)]``"""
    if found.step is not None:
        return found
    nested = _NESTED.search(text)
    if nested:
        return replace(found, step=count(nested["at"]), of=count(nested["total"]))
    rest = text[last.end() :].lstrip("])")
    if wide := re.match(rf"\s*━[━╸╺ ]*\s*(?P<at>{COUNT})/(?P<total>{COUNT})\b", rest):
        return replace(found, step=count(wide["at"]), of=count(wide["total"]))
    behind = re.match(rf"\s*[\[(]\s*(?P<at>{COUNT})\s*/\s*(?P<total>{COUNT})", rest) or _AFTER_EPOCH.match(
        rest
    )
    return replace(found, step=count(behind["at"]), of=count(behind["total"])) if behind else found


def _graded(found: Progress, text: str, first: re.Match[str], last: re.Match[str]) -> Progress | None:
    """Sure with a total, a result, a rate or a second count, or where the line says nothing else."""
    named = first["word"].lower()
    if (
        found.of
        or found.of_epochs
        or (found.step is not None and found.epoch is not None)
        or _supported(text)
    ):
        return found
    before, after = text[: first.start()], text[last.end() :]
    alone = _ONLY.match(before) and not after.strip(" .:=-*#])|>")
    if alone and before.strip(" [(-*#=>|"):
        return found
    if named in ("epoch", "ep") and first["word"][0].isupper():
        return found if alone or re.match(r"\s*[:,]\s", after) else replace(found, sure=False)
    if re.match(r"\s*[:.)]\s+[A-Za-z]", after) and named not in ("epoch", "ep"):  # the heading of a stage
        return None
    return replace(found, sure=False)


def _bracketed(text: str) -> Progress | None:
    """Counts without a word, next to a result, a rate or a percentage."""
    if not _supported(text):
        return None
    if nested := _NESTED.search(text):
        return Progress(
            count(nested["at"]),
            count(nested["total"]),
            _float(nested["epoch"]),
            count(nested["epochs"]),
            _part(text),
        )
    if mode := _MODE.search(text):
        fraction = _FRACTION.search(text, mode.end())
        if fraction:
            return Progress(
                count(fraction["at"]), count(fraction["total"]), _float(mode["epoch"]), part=_part(text)
            )
    if comma := _COMMA.match(text):
        return Progress(count(comma["at"]), epoch=_float(comma["epoch"]))
    fraction = _FRACTION.search(text)
    if fraction and (fraction["open"] or not text[: fraction.start()].strip(" -|*>")):
        return Progress(count(fraction["at"]), count(fraction["total"]), part=_part(text))
    leading = _LEADING.match(text)
    if leading and metrics(text[leading.end() :]):
        return Progress(count(leading["bracket"] or leading["colon"] or leading["bar"]))
    return None


def _float(text: str | None) -> float | None:
    return float(text.replace(",", "")) if text else None


def _supported(text: str) -> bool:
    return bool(_RATE.search(text) or metrics(text) or re.search(rf"\bavg(?: loss)?, {NUMBER} rate", text))

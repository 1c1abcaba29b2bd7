"""The framework itself warned of something that contradicts the result."""

import re

from holdfast.explain.readings.compared import compared
from holdfast.explain.readings.course import course
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause
from holdfast.explain.warned import warned

#: What makes a result meaningless whatever the loss did. Others are meant as often as not.
_ALWAYS = re.compile(r"axis has size 1|num_classes > 1", re.IGNORECASE)
#: The loss is right all the same: it reads the logits behind.
_HARMLESS = re.compile(
    r"received `from_logits=\w+`, but|no longer supported and will be ignored", re.IGNORECASE
)


@cause("framework-warning", specialises=("loss-not-falling", "too-few-updates"))
def framework_warning(evidence: Evidence) -> Finding | None:
    found = [one for one in warned(evidence) if not _HARMLESS.search(str(one.values["text"]))]
    if not found or not evidence.fits:
        return None
    found.sort(key=lambda one: not _ALWAYS.search(str(one.values["text"])))
    first = found[0]
    strength = _strength(evidence, first)
    if strength is None:
        return None
    values = {"text": first.values["text"], "where": first.values["where"]}
    return Finding(
        strength,
        Title("framework-warning", values),
        found,
        [Remedy("warning.follow", values)],
        ends=False,
    )


def _strength(evidence: Evidence, first: Fact) -> Strength | None:
    seen, went = compared(evidence), course(evidence)
    learned = seen.learned if seen is not None else went.learned if went is not None else None
    if _ALWAYS.search(str(first.values["text"])):
        last = seen is None or not seen.output.activation or seen.output.units == 1
        return Strength.SUPPORTED if last and learned is not True else Strength.POSSIBLE
    return Strength.SUPPORTED if learned is False else None

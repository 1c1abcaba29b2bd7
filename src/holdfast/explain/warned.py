"""What a framework itself warned of and that speaks against what was learnt, though training ran to its end."""

from __future__ import annotations

import re

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.journal import events as ev

_MOST = 3

#: Not advice, nor what a cause of its own tells: words that the weights or the result are other than was meant.
_AGAINST = re.compile(
    r"axis has size 1|num_classes > 1"  # softmax over one number: always 1
    r"|received `from_logits=\w+`, but"
    r"|Gradients do not exist for variables"
    r"|`trainable` state has changed since the model was compiled|trainable weights and collected trainable weights"
    r"|no longer supported and will be ignored"  # a setting of an optimizer
    r"|destroy the mask information"
    r"|retain their freshly-initialized weights|Skipping loading (of )?weights|Value in checkpoint could not be found"
    r"|saving a model that has not yet been built"
    r"|labels? .{0,40}(outside|out) of (the )?(valid )?range",
    re.IGNORECASE | re.DOTALL,
)


def warned(evidence: Evidence) -> tuple[Fact, ...]:
    """Each once, with the line that brought it about."""
    found: dict[str, Fact] = {}
    for said in evidence.all(ev.WarningSeen):
        match = _AGAINST.search(said.event.text)
        if match is not None and match[0].lower() not in found:
            values = {"text": said.event.text, "where": said.event.where}
            found[match[0].lower()] = Fact("framework.warned", values, said.source)
    return tuple(found.values())[:_MOST]

"""An image has another number of channels than the others or than the model takes."""

import re

from holdfast.explain.readings.arrays import (
    CHANNELS,
    UnlikeShapes,
    differ_in_channels,
    shapes_not_batched,
    unlike_shapes,
)
from holdfast.explain.readings.error import error_quoted, file_named, user_line
from holdfast.explain.readings.files import IMAGES
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, facts

_KERAS_AXIS = re.compile(
    r"expected axis -1 of input shape to have value (\d+), but received input with shape \(?([^)\n]*)"
)
_LAST_IS_CHANNELS = re.compile(r"[, ][1234]$")
#: Channels that were wanted, then those given, in the words of torch, of XLA (the other way round), of others.
_TORCH = re.compile(r"to have (?P<wanted>\d) channels, but got (?P<given>\d) channels")
_XLA = re.compile(
    r"[Dd]epth of input must be a multiple of depth of filter: (?P<given>\d) vs (?P<wanted>\d)\b"
)
_OTHERS = re.compile(
    r"(?:input depth|number of channels|channels?)\D{0,40}(?P<wanted>\d)\D{1,60}(?P<given>\d)"
)


@cause("wrong-channels", specialises=("script-error",))
def wrong_channels(evidence: Evidence) -> Finding | None:
    error = evidence.error
    if error is None:
        return None
    unlike = unlike_shapes(evidence)
    title = _among_images(unlike, error.text) or _of_the_model(error.text)
    if title is None:
        return None
    file = file_named(error.text, IMAGES)
    return Finding(
        Strength.ESTABLISHED,
        title,
        facts(
            error_quoted(error),
            user_line(evidence),
            bool(file) and Fact("file.named", {"file": file}, error.source),
            unlike is not None and unlike.fact,
        ),
        (Remedy("image.decode-three-channels"), Remedy("image.check-modes", safety="automatic")),
    )


def _among_images(unlike: UnlikeShapes | None, text: str) -> Title | None:
    """One image differs from the others; a number of channels is None where a grey image has no such dimension."""
    batched = shapes_not_batched(text)
    if unlike is not None and differ_in_channels(unlike.usual, unlike.odd):
        usual, odd = unlike.usual, unlike.odd
    elif batched is not None and differ_in_channels(*batched):
        odd, usual = batched
    else:
        return None
    values = {
        "odd": odd[-1] if len(odd) >= len(usual) else None,
        "usual": usual[-1] if len(usual) >= len(odd) else None,
    }
    return Title("wrong-channels.one-image", values)


def _of_the_model(text: str) -> Title | None:
    """The model takes another number of channels than it was given."""
    axis = _KERAS_AXIS.search(text)
    if axis is not None:
        shape = axis[2].strip()
        if _LAST_IS_CHANNELS.search(shape.rstrip(",)")) and axis[1] in "1234":
            return Title("wrong-channels.shape", {"wanted": int(axis[1]), "shape": shape})
    for pattern in (_TORCH, _XLA, _OTHERS):
        if (found := pattern.search(text)) is not None:
            wanted, given = int(found["wanted"]), int(found["given"])
            channels = {wanted, given} <= {*CHANNELS} and wanted != given
            if pattern is not _OTHERS or channels:
                return Title("wrong-channels", {"wanted": wanted, "given": given})
    return None

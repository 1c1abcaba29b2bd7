"""An image has another number of channels than the others or than the model takes."""

from __future__ import annotations

import re

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.arrays import differ_in_channels
from holdfast.explain.readings.error import file_named
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, unlike_pieces, users_line
from holdfast.explain.words import clipped


@cause("wrong-channels", Group.DATA, specialises=("script-error",))
def wrong_channels(evidence: Evidence) -> Finding | None:
    error = evidence.error
    if error is None:
        return None
    text = error.text
    pair = re.search(
        r"Cannot (?:add tensor to the batch|batch tensors).*?\[([\d,]+)\].*?\[([\d,]+)\]", text, re.S
    )
    axis = re.search(
        r"expected axis -1 of input shape to have value (\d+), but received input with shape \(?([^)\n]*)",
        text,
    )
    depth = re.search(r"(?:input depth|number of channels|channels?)\D{0,40}(\d)\D{1,60}(\d)", text)
    torchs = re.search(r"to have (\d) channels, but got (\d) channels", text)
    ratio = re.search(
        r"[Dd]epth of input must be a multiple of depth of filter: (\d) vs (\d)\b", text
    )  # XLA's words
    pieces = unlike_pieces(evidence)
    if pieces is not None and differ_in_channels(*pieces[:2]):
        usual, odd = pieces[:2]
        what = f"one image has {odd[-1]} channels, the others {usual[-1]}"
        if len(odd) != len(usual):
            flat = "one image has" if len(odd) < len(usual) else "the others have"
            rest = f"the others have {usual[-1]}" if len(odd) < len(usual) else f"one has {odd[-1]}"
            what = f"{flat} no axis of channels, {rest}"
    elif pair and differ_in_channels(_sides(pair[1]), _sides(pair[2])):
        what = f"one image has {pair[2].split(',')[-1]} channels, another {pair[1].split(',')[-1]}"
    elif axis and re.search(r"[, ][1234]$", axis[2].strip().rstrip(",)")) and axis[1] in "1234":
        what = f"the model takes {axis[1]} channels and was given shape ({axis[2].strip()})"
    elif torchs:
        what = f"{torchs[1]} channels were wanted and {torchs[2]} given"
    elif ratio:
        what = f"{ratio[2]} channels were wanted and {ratio[1]} given"
    elif (
        depth
        and re.search(r"hannel|depth", text)
        and {depth[1], depth[2]} <= set("1234")
        and depth[1] != depth[2]
    ):
        what = f"{depth[1]} channels were wanted and {depth[2]} given"
    else:
        return None
    file = file_named(text, r"jpe?g|png|bmp|gif|webp|tiff?")
    facts = [Fact(clipped(f"{error.type}: {error.essence}", 200), error.source), *users_line(evidence)]
    facts += [Fact(f"the file is {file}", error.source)] if file else []
    facts += [pieces[2]] if pieces is not None else []
    return Finding(
        "wrong-channels",
        Strength.ESTABLISHED,
        what,
        tuple(facts),
        (),
        (
            Remedy(
                "ask the decoder for three channels, whatever the file has",
                "your-choice",
                "image = tf.io.decode_image(data, channels=3, expand_animations=False)",
            ),
            Remedy("name the files: `holdfast check DATA` lists images of unsupported mode", "automatic"),
        ),
    )


def _sides(text: str) -> tuple[int, ...]:
    return tuple(int(side) for side in text.split(",") if side)

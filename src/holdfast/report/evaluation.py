"""The sections of a page that show a validation and a dataset, from what the trainer left in the run's folder.

The files may come from elsewhere, so every text is escaped, every number is made a number, and what does not
have the expected form is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from holdfast.report import plots

_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
#: What became of a detection, in words; `holdfast eval` prints the same.
MISTAKES = {
    "right": "right",
    "localisation": "right class, box off",
    "class": "right box, wrong class",
    "class-and-localisation": "wrong class, box off",
    "duplicate": "found a second time",
    "background": "nothing is there",
    "missed": "boxes that nothing found",
}


def validation(shown: Mapping[str, Any]) -> str:
    """Numbers, curves, confusion and images of the newest validation; nothing when there was none."""
    try:
        parts = [_numbers(shown), _curves(shown), _confusion(shown), _worst_images(shown)] if shown else []
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        parts = []
    body = "".join(parts)
    step = f" at step {_as_int(shown.get('step')):,}" if body else ""
    return f"<section id=validation><h2>Validation{step}</h2>{body}</section>" if body else ""


def dataset(shown: Mapping[str, Any]) -> str:
    """The training data in plots, and the sizes of both parts."""
    try:
        return _dataset(shown) if shown else ""
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        return ""


# -- validation -------------------------------------------------------------------------------------


def _numbers(shown: Mapping[str, Any]) -> str:
    values = shown["numbers"]
    tiles = [(name, _score(values[name])) for name in ("AP", "AP50", "AP75", "AR100") if name in values]
    tiles += [("images", f"{_as_int(shown['images']):,}"), ("boxes", f"{_as_int(shown['boxes']):,}")]
    drawn = "".join(f"<div class=tile><b>{value}</b>{name}</div>" for name, value in tiles)
    return f"<div class=tiles>{drawn}</div>"


def _curves(shown: Mapping[str, Any]) -> str:
    cards = []
    for iou in ("0.5", "0.75"):
        rows = [
            (str(one["name"]), [float(value) for value in one["precision_at_recall"][iou]])
            for one in shown["classes"]
            if one["precision_at_recall"].get(iou)
        ]
        cards.append(
            f"<div class=card><h3>Precision over recall, overlap {iou} and more</h3>{plots.curves(rows)}</div>"
        )
    head = "<tr><th>class</th><td>boxes</td><td>AP</td><td>AP50</td><td>AP75</td></tr>"
    rows_of = "".join(
        f'<tr><th><i class=dot style="background:{plots.hue(at)}"></i>{escape(str(one["name"]))}</th>'
        f"<td>{_as_int(one['boxes']):,}</td>"
        + "".join(f"<td>{_score(one[name])}</td>" for name in ("AP", "AP50", "AP75"))
        + "</tr>"
        for at, one in enumerate(shown["classes"])
    )
    more = _as_int(shown["class_count"]) - len(shown["classes"])
    note = f'<p class="soft small">and {more} classes that do better or have no boxes</p>' if more > 0 else ""
    return (
        f"<div class=grid>{''.join(cards)}</div>"
        f'<details><summary>By class, the lowest first</summary><table class="figures">{head}{rows_of}</table>{note}'
        "</details>"
    )


def _confusion(shown: Mapping[str, Any]) -> str:
    table = shown["confusion"]
    names = [str(name) for name in table["classes"]]
    rows = [[_as_int(count) for count in row] for row in table["true_by_found"]]
    head = "".join(f'<th scope="col"><span>{escape(name)}</span></th>' for name in names)
    body = "".join(_confusion_row(names, at, row) for at, row in enumerate(rows))
    above = float(shown["score_above"])
    kinds = "".join(
        f"<tr><td>{_as_int(count):,}</td><th>{MISTAKES[kind]}</th></tr>"
        for kind, count in shown["mistakes"].items()
        if kind in MISTAKES
    )
    left = _as_int(table.get("left_out", 0))
    note = f"; {left} classes with less confusion are not shown" if left > 0 else ""
    return (
        f"<h3>What was taken for what</h3>"
        f'<p class="soft small">Detections scored {above:g} or more, at overlap 0.5. A row is what is there, a column '
        f"what was found{note}.</p>"
        f'<div class="beside"><div class="scroll"><table class="confusion"><tr><th></th>{head}</tr>{body}</table></div>'
        f'<table class="kinds">{kinds}</table></div>'
    )


def _confusion_row(names: Sequence[str], at: int, row: Sequence[int]) -> str:
    most = max(sum(row), 1)
    cells = "".join(
        f'<td class="{"hit" if at == column and at < len(names) - 1 else "off"}" style="--n:{count / most:.2f}" '
        f'title="{escape(names[at])}, found as {escape(names[column])}: {count}">{count or ""}</td>'
        for column, count in enumerate(row)
    )
    return f'<tr><th scope="row">{escape(names[at])}</th>{cells}</tr>'


def _worst_images(shown: Mapping[str, Any]) -> str:
    images = shown.get("pictures", [])
    if not images:
        return ""
    figures = "".join(_figure(number, one) for number, one in enumerate(images))
    key = (
        '<p class="soft small key"><i class="found"></i>there and found <i class="missed"></i>there and missed '
        '<i class="right"></i>found, right <i class="wrong"></i>found, wrong '
        '<i class="faint"></i>scored too low to count</p>'
    )
    return f"<h3>The images, worst first</h3>{key}<div class=pairs>{figures}</div>"


def _figure(number: int, one: Mapping[str, Any]) -> str:
    missed, wrong = _as_int(one["missed"]), _as_int(one["wrong"])
    said = ", ".join(
        text
        for text in (f"{missed} missed" if missed else "", f"{wrong} wrong" if wrong else "") if text
    )  # fmt: skip
    truth = "".join(_box(row, "found" if row["found"] else "missed", one) for row in one["truth"])
    found = "".join(_box(row, "faint", one) for row in one.get("faint", []))
    found += "".join(_box(row, "right" if row["right"] else "wrong", one) for row in one["found"])
    return (
        f"<figure>{_svg(number, one, truth, first=True)}{_svg(number, one, found, first=False)}"
        f'<figcaption>{escape(str(one["name"]))} <span class="soft">{said or "all right"}</span></figcaption></figure>'
    )


def _svg(number: int, one: Mapping[str, Any], boxes: str, *, first: bool) -> str:
    width, height = _as_int(one["width"]), _as_int(one["height"])
    jpeg = str(one["jpeg"])
    if not jpeg or not _BASE64.fullmatch(jpeg):
        image = f'<rect width="{width}" height="{height}" class="blank"/>'
    elif first:  # carried once, drawn twice
        data = f"data:image/jpeg;base64,{jpeg}"
        image = f'<image id="image-{number}" width="{width}" height="{height}" href="{data}"/>'
    else:
        image = f'<use href="#image-{number}"/>'
    label = "what is there" if first else "what was found"
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{image}{boxes}</svg>'


def _box(row: Mapping[str, Any], kind: str, one: Mapping[str, Any]) -> str:
    x1, y1, x2, y2 = (float(value) for value in row["box"])
    longest = max(_as_int(one["width"]), _as_int(one["height"]))
    score = f" {float(row['score']):.2f}" if "score" in row else ""
    said = escape(f"{row['name']}{score}")
    size = longest / 20
    fits = x1 + size * (0.5 + 0.58 * len(said)) <= _as_int(one["width"])
    at, side = (x1 + size / 4, "start") if fits else (min(x2, _as_int(one["width"])) - size / 4, "end")
    return (
        f'<g class="{kind}"><rect x="{x1:.1f}" y="{y1:.1f}" width="{x2 - x1:.1f}" height="{y2 - y1:.1f}"/>'
        f'<text x="{at:.1f}" y="{max(y1 + size, size):.1f}" style="font-size:{size:.1f}px" text-anchor="{side}">'
        f"{said}</text><title>{said}</title></g>"
    )


# -- dataset ----------------------------------------------------------------------------------------


def _dataset(shown: Mapping[str, Any]) -> str:
    train, held = shown["train"], shown["validation"]
    tiles = [
        ("images to train on", f"{_as_int(train['pictures']):,}"),
        ("boxes in them", f"{_as_int(train['boxes']):,}"),
        ("images to validate on", f"{_as_int(held['pictures']):,}"),
        ("boxes in them", f"{_as_int(held['boxes']):,}"),
        ("classes", f"{_as_int(train['class_count']):,}"),
    ]
    if _as_int(train.get("left_out", 0)):
        tiles.append(("boxes left out", f"{_as_int(train['left_out']):,}"))
    per_image = [
        float(n) for n, times in train["boxes_per_picture"] for _ in range(min(_as_int(times), 5000))
    ]
    cards = (
        ("Boxes of each class", plots.bars([(str(n), _as_int(c)) for n, c in train["classes"]])),
        ("Boxes per image", plots.histogram(per_image, " boxes")),
        (
            "Box sizes, square root of the area",
            plots.histogram([float(v) for v in train["sides_px"]], " px", log=True),
        ),
        (
            "Box aspect ratios, width to height",
            plots.histogram([float(v) for v in train["ratios"]], "", log=True),
        ),
        (
            "Image sizes, width across and height up",
            plots.scatter([(float(w), float(h)) for w, h in train["picture_sizes"]], "px"),
        ),
        (
            "Where box centres are",
            plots.heat_map([[_as_int(count) for count in row] for row in train["centres"]]),
        ),
    )
    numbers = "".join(f"<div class=tile><b>{value}</b>{name}</div>" for name, value in tiles)
    drawn = "".join(f"<div class=card><h3>{title}</h3>{svg}</div>" for title, svg in cards)
    return f"<section id=data><h2>The data</h2><div class=tiles>{numbers}</div><div class=grid>{drawn}</div></section>"


def _as_int(value: Any) -> int:
    return int(value)


def _score(value: Any) -> str:
    """-1 is COCO's word for "there is none of that"."""
    number = float(value)
    return "–" if number < 0 else f"{number:.3f}"

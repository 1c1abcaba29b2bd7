"""One HTML page of a dataset: images with boxes, tables and plots. It opens without a network."""

from __future__ import annotations

from html import escape

from holdfast.data.checking.dataset_check import DatasetPart, Report, check
from holdfast.data.checking.statistics import DatasetStatistics
from holdfast.data.files import filesystem
from holdfast.data.files.progress_bar import tracked
from holdfast.data.finding_kinds import KINDS
from holdfast.data.findings import DataFinding
from holdfast.data.images.thumbnails import choose_records, colours_of, figure
from holdfast.data.reading.load import read
from holdfast.errors import AlreadyThere
from holdfast.report import plots

GRID = 24
MOST_CLASSES = 40
#: The page needs no script, and nothing from elsewhere.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --dim: #667; --line: #d5dbe3; --card: #fff;
  --page: #f4f6f9; --bar: #3b7dd8; --error: #c62f2f; --warning: #a86a00 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --dim: #9aa4b2; --line: #333c49;
  --card: #1c232d; --page: #12171e; --bar: #6ba4f0; --error: #ff8078; --warning: #f0b64d } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--page);
  margin: 0 auto; max-width: 1180px; padding: 24px }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere }
h2 { font-size: 18px; margin: 32px 0 10px }
.dim { color: var(--dim) }
.tiles { display: flex; gap: 12px; flex-wrap: wrap; margin: 16px 0 }
.tile, .card, figure { background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 16px }
.tile b { display: block; font-size: 22px }
.grid { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)) }
.card h3 { margin: 0 0 8px; font-size: 14px }
svg { width: 100%; height: auto; display: block }
svg text { font: 11px system-ui, sans-serif; fill: var(--ink) }
.bar, .dot, .heat { fill: var(--bar) }
.dot { fill-opacity: .45 }
.axis, .frame { fill: none; stroke: var(--line) }
.gallery { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)) }
figure { margin: 0; padding: 8px }
figcaption { font-size: 12px; margin-top: 6px; overflow-wrap: anywhere }
.broken { padding: 40px 12px; color: var(--dim) }
.error { color: var(--error) }
.warning { color: var(--warning) }
li { margin: 6px 0; overflow-wrap: anywhere }
ul { padding-left: 20px }
.key { display: inline-block; margin: 0 14px 4px 0 }
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 5px }
"""


def inspect(
    source: str, out: str, *, format: str | None = None, images: int = 48, overwrite: bool = False
) -> str:
    """Write the page and return its path."""
    target = filesystem.join(out, "dataset.html") if filesystem.is_folder(out) else out
    if filesystem.exists(target) and not overwrite:
        raise AlreadyThere(
            "something is already there, and nothing is overwritten unasked",
            where=target,
            change="give another --out, or add --overwrite to replace it",
        )
    report, census = check([DatasetPart(source, format=format)])
    records = read(source, format, strict=False).records
    picked = choose_records(records, images)
    colours = colours_of(report.classes)
    figures = [figure(record, colours) for record in tracked(picked, "drawing", len(picked))]
    filesystem.write_bytes(target, page(report, census, figures, colours).encode("utf-8", "replace"))
    return target


def page(report: Report, census: DatasetStatistics, figures: list[str], colours: dict[str, str]) -> str:
    name = escape(report.path)
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{name}</title><style>{_STYLE}</style><h1>{name}</h1>"
        f"<p class=dim>written by holdfast data inspect; opens without a network</p>{_tiles(report, census)}"
        f"<h2>What was found</h2>{_findings(report.findings)}<h2>In numbers</h2>{_plots(census)}"
        f"<h2>Images</h2><p>{_key(report, colours)}</p><div class=gallery>{''.join(figures)}</div></html>\n"
    )


def _tiles(report: Report, census: DatasetStatistics) -> str:
    negatives = census.boxes_per_image[0]
    values = (
        ("images", report.images),
        ("boxes", report.boxes),
        ("class" if len(report.classes) == 1 else "classes", len(report.classes)),
        ("images without boxes", negatives),
        ("image sizes", len(census.sizes)),
        ("boxes an image", plots.number(report.boxes / report.images) if report.images else "0"),
    )
    tiles = "".join(f"<div class=tile><b>{value}</b>{name}</div>" for name, value in values)
    return f"<div class=tiles>{tiles}</div>"


def _findings(findings: tuple[DataFinding, ...]) -> str:
    if not findings:
        return "<p>Nothing.</p>"
    items = "".join(
        f"<li><b class={finding.severity}>{finding.severity}</b> {escape(finding.slug)}: "
        f"{escape(KINDS[finding.slug].title)} ({finding.count})<br><span class=dim>{escape(_first(finding))}</span><br>"
        f"{escape(finding.remedy)}</li>"
        for finding in findings
    )
    return f"<ul>{items}</ul>"


def _first(finding: DataFinding) -> str:
    place = finding.places[0]
    return f"{place.file}: {place.detail}"


def _plots(census: DatasetStatistics) -> str:
    sample = [
        (size, box) for size, box in census.sample if box.width > 0 and box.height > 0 and size[0] and size[1]
    ]
    ratios = [box.width / box.height for _, box in sample]
    sides = [(box.width * box.height) ** 0.5 for _, box in sample]
    per_image = [
        float(count) for count, times in census.boxes_per_image.items() for _ in range(min(times, 5000))
    ]
    sizes = [(float(w), float(h)) for w, h in list(census.sizes)[:3000]]
    cards = (
        ("Boxes of each class", plots.bars(census.classes.most_common(MOST_CLASSES))),
        ("Boxes an image", plots.histogram(per_image, " boxes")),
        ("Image sizes, width across and height up", plots.scatter(sizes, "px")),
        ("Box sizes, square root of the area", plots.histogram(sides, " px", log=True)),
        ("Box aspect ratios, width to height", plots.histogram(ratios, "", log=True)),
        (
            "Box widths across, heights up",
            plots.scatter([(b.width, b.height) for _, b in sample[:2000]], "px"),
        ),
        ("Where box centres are in the image", plots.heat_map(_centres(census))),
    )
    return (
        "<div class=grid>"
        + "".join(f"<div class=card><h3>{t}</h3>{svg}</div>" for t, svg in cards)
        + "</div>"
    )


def _centres(census: DatasetStatistics) -> list[list[int]]:
    grid = [[0] * GRID for _ in range(GRID)]
    for (width, height), box in census.sample:
        x, y = (box.x1 + box.x2) / 2 / width, (box.y1 + box.y2) / 2 / height
        if 0 <= x < 1 and 0 <= y < 1:
            grid[int(y * GRID)][int(x * GRID)] += 1
    return grid


def _key(report: Report, colours: dict[str, str]) -> str:
    shown = report.classes[:MOST_CLASSES]
    return "".join(
        f'<span class=key><i style="background:{colours[n]}"></i>{escape(n)}</span>' for n in shown
    )

"""A report for a terminal: the summary first, then errors, warnings and notes, with places and a remedy."""

from __future__ import annotations

from holdfast.data.checking.dataset_check import Report
from holdfast.data.finding_kinds import KINDS
from holdfast.data.findings import DataFinding

_COLOURS = {"error": "\x1b[31m\x1b[1m", "warning": "\x1b[33m\x1b[1m", "note": "\x1b[1m"}
_PLAIN = "\x1b[0m"
_LONGEST = 600  # characters of a line: a name may have millions


def as_text(report: Report, *, colour: bool = False) -> str:
    lines = [_summary(report), ""]
    for finding in report.findings:
        lines += [*_finding(finding, colour=colour), ""]
    lines.append(_verdict(report))
    return "\n".join(map(_clipped, lines))


def _clipped(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 2] + " …"


def in_a_line(finding: DataFinding) -> str:
    """For a command that wrote something, and names what it met on the way."""
    first = finding.places[0]
    title = KINDS[finding.slug].title
    return _clipped(
        f"{finding.severity}[{finding.slug}]: {title} ({finding.count}), the first is {first.file}: {first.detail}"
    )


def _summary(report: Report) -> str:
    names = ", ".join(report.classes[:6]) + (" …" if len(report.classes) > 6 else "")
    count = len(report.classes)
    classes = f"{count} class{'es' if count != 1 else ''}" + (f" ({names})" if names else "")
    return f"{report.path}: {_many(report.images, 'image')}, {_many(report.boxes, 'box', 'boxes')}, {classes}"


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _finding(finding: DataFinding, *, colour: bool) -> list[str]:
    head = f"{finding.severity}[{finding.slug}]"
    painted = f"{_COLOURS[finding.severity]}{head}{_PLAIN}" if colour else head
    lines = [f"{painted}: {KINDS[finding.slug].title} ({finding.count})"]
    shown = finding.places if finding.severity != "note" else finding.places[:2]
    for number, place in enumerate(shown):
        if number == 0 or place.file != shown[number - 1].file:  # named once for all that is wrong in it
            lines.append(f"  {'found' if number == 0 else '':<7} {place.file}")
        lines.append(f"          {place.detail}")
    if finding.count > len(shown) and len(finding.places) > 1:
        lines.append(f"          … {finding.count - len(shown)} more")
    lines += [f"  {key:<7} {value}" for key, value in finding.extra]
    lines.append(f"  change  {finding.remedy}")
    return lines


def _verdict(report: Report) -> str:
    errors = [finding for finding in report.findings if finding.severity == "error"]
    others = len(report.findings) - len(errors)
    if errors:
        rest = f"; {others} more to know" if others else ""
        return f"{_many(len(errors), 'finding')} would stop or spoil a run{rest}"
    return "nothing here would stop or spoil a run" + (f"; {others} to know" if others else "")

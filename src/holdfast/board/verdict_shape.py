"""The verdict of a run in the shape that the page draws, whatever the file or the program gave. Pure."""

from __future__ import annotations

from typing import Any

from holdfast.board.plain_values import mapping, number, objects, text

_LONG = 4000
BLAMING = ("established", "supported")


def shaped(verdict: Any) -> dict[str, Any]:
    """Texts are texts and lists are lists; what is not is left out."""
    given = mapping(verdict)
    return {
        "outcome": text(given.get("outcome"), 40),
        "summary": text(given.get("summary"), _LONG),
        "step": number(given.get("step")),
        "of": number(given.get("of")),
        "findings": [_finding(one) for one in objects(given.get("findings"), 20)],
        "ruled_out": [_texts(one, "cause", "why") for one in objects(given.get("ruled_out"))],
        "known": [_texts(one, "fact", "source") for one in objects(given.get("known"))],
        "warned": [_texts(one, "fact", "source") for one in objects(given.get("warned"))],
        "since_last_good": [
            text(one, _LONG) for one in _list(given.get("since_last_good"))[:40] if isinstance(one, str)
        ],
    }


def _finding(given: dict[str, Any]) -> dict[str, Any]:
    return {
        **_texts(given, "cause", "strength", "title", "led_to"),
        "normal": given.get("normal") is True,
        "because": [_texts(one, "fact", "source") for one in objects(given.get("because"))],
        "against": [_texts(one, "fact", "source") for one in objects(given.get("against"))],
        "remedies": [_texts(one, "do", "safety", "code") for one in objects(given.get("remedies"))],
    }


def _texts(given: dict[str, Any], *names: str) -> dict[str, str]:
    return {name: words for name in names if (words := text(given.get(name), _LONG))}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def first_line(verdict: dict[str, Any]) -> dict[str, Any]:
    """Of a verdict in any shape: cause, title and first remedy, and whether it blames something."""
    first = next(iter(objects(verdict.get("findings"), 1)), {})
    remedy = next(iter(objects(first.get("remedies"), 1)), {})
    blames = first.get("strength") in BLAMING and first.get("normal") is not True
    return {
        "cause": text(first.get("cause"), 60),
        "why": text(first.get("title"), 300),
        "do": text(remedy.get("do"), 300) if first.get("normal") is not True else "",
        "blames": blames,
    }

"""Lines that say that a checkpoint or a model was written, and where."""

from __future__ import annotations

import re

_PATH = r"(?P<path>(?:[A-Za-z][\w+.-]*://|~|[A-Za-z]:\\|\.{0,2}/)?[\w.@%+=:{}/\\-]*[\w}]/?)"
_OBJECT = (
    r"(?:model|checkpoint|check point|ckpt|weights|snapshot|state(?:_dict)?|trainer state|"
    r"best|config\w*|optimizer|bundle|assets)"
)
_PATTERNS = (
    re.compile(
        rf"\bsav(?:ing|ed)\b[^,;]{{0,60}}?\b{_OBJECT}s?\b[^,;]{{0,40}}?\b(?:to|into|in|at|as|"
        rf"under|:)\s*:?\s*['\"`]?{_PATH}",
        re.I,
    ),
    re.compile(
        rf"\b{_OBJECT}s?\b[^,;]{{0,40}}?\b(?:was |were |been |is )?(?:successfully )?(?:saved|"
        r"written|stored|dumped|exported)\b\s*(?:to|into|in|at|as|under|"
        rf":)?\s*:?\s*['\"`]?{_PATH}",
        re.I,
    ),
    re.compile(rf"\bSaving checkpoints? for \d+ into {_PATH}", re.I),
    re.compile(
        r"\b(?:Snapshotting to binary proto file|Assets written to:|Wrote checkpoint(?: to)?|"
        rf"Writing checkpoint to|dumping)\s+['\"`]?{_PATH}",
        re.I,
    ),
    re.compile(
        r"\bSaved? (?:\w+ )?(?:to|as|in) ['\"`]?(?P<path>\S+\.(?:h5|keras|pt|pth|ckpt|"
        r"safetensors|pkl|bin|npz|msgpack|index|tflite|onnx|rds|jld2|bson|model)\b)",
        re.I,
    ),
    re.compile(
        r"\b(?:Saving|Saved|Wrote|Writing) (?P<path>\S+\.(?:h5|keras|pt|pth|ckpt|safetensors|"
        r"pkl|npz|msgpack|model))\b",
        re.I,
    ),
)
_NOT_YET = re.compile(
    r"\b(?:will be|would be|should be|can be|to be|cannot|can't|could not|couldn't|not|"
    r"fail(?:ed|ure)?|error|no|if|unable)\b[^.]{0,40}?\b(?:sav|writ|stor)",
    re.I,
)
_BARE = re.compile(
    rf"^\W*(?:sav(?:ing|ed)|wrote|writing) (?:the |a |best |new |last |current |final )*{_OBJECT}s?\W*$", re.I
)


def saved(text: str) -> str | None:
    """The path of the checkpoint that the line says was written; "" where it names none, None where it says nothing."""
    if _NOT_YET.search(text):
        return None
    for pattern in _PATTERNS:
        if match := pattern.search(text):
            path = match["path"].rstrip(".,'\"`…)")
            return path if re.search(r"[/\\.\d_-]", path) else ""
    return "" if _BARE.match(text) else None

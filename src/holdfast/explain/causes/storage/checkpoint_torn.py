"""A checkpoint or model file is cut off."""

import re

from holdfast.explain.cut_off_file import CutOffFile, cut_off_file, data_file_named
from holdfast.explain.readings.error import ErrorText, file_named, is_there, user_line
from holdfast.explain.readings.output import clipped
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause, ev

_CORRUPT = ErrorText(
    r"truncated file: eof|"
    r"Unable to (synchronously )?open (file|object).*(truncated|bad object|file signature not found|addr overflow)|"
    r"BadZipFile|File is not a zip file|not an sstable|Bad magic number|File not found: filepath=\S+\.keras|"
    r"PytorchStreamReader failed|failed finding central directory|archive is corrupted|"
    r"unexpected EOF, expected \d+ more|"
    r"InvalidHeaderDeserialization|HeaderTooSmall|MetadataIncompleteBuffer|"
    r"bad symbol table|Checksum does not match|Unable to open or read checkpoint|"
    r"too short to be an sstable|Read (less|fewer) bytes than requested"
)
_ENDINGS = r"keras|h5|pth?|safetensors|bin|weights\.h5|index|ckpt\S*|npz|hdf5"
_LOADING = re.compile(r"load|restore|open|BackupAndRestore")
#: Frames of code that reads models; a half downloaded archive of data is no checkpoint.
_MODEL_FRAMES = re.compile(r"keras|load_model|load_weights|restore|checkpoint|saving")


@cause("checkpoint-torn", specialises=("script-error",))
def checkpoint_torn(evidence: Evidence) -> Finding | None:
    quote = _CORRUPT.match(evidence)
    torn = cut_off_file(evidence)
    if torn is not None:
        return _by_its_end(evidence, torn)
    if quote is None or data_file_named(evidence) is not None:
        return None
    text, frames = quote.whole, " ".join(evidence.error.frames if evidence.error is not None else ())
    file = file_named(text.replace("`.keras`", ""), _ENDINGS)
    zipped = "BadZip" in text or "not a zip" in text.lower()
    short = bool(quote.says("bytes than requested"))  # of any file that TensorFlow reads
    either = quote.says("filepath=") and bool(file)  # Keras says it of a missing file, and of a corrupt one
    there = is_there(evidence, file) if either else None
    missing = there is False or (there is None and not _was_there(evidence, file))
    if (either and missing) or ((zipped or short) and not (file or _MODEL_FRAMES.search(frames))):
        return None
    facts = [Fact("checkpoint.file", {"file": file, "is_there": bool(there)}, quote.source)] if file else []
    killed = [one for one in evidence.earlier[-1:] if one.ended.startswith("SIG")]
    facts += [
        Fact("attempt.killed-before", {"attempt": one.number, "signal": one.ended}, "journal.jsonl")
        for one in killed
    ]
    return Finding(
        Strength.established_if(there or "truncated" in text or zipped or short),
        Title("checkpoint-torn", {"file": file}),
        because=[*quote.facts, *facts],
        against=() if _LOADING.search(text + frames) else [Fact("error.not-in-loading", {}, quote.source)],
        remedies=[Remedy("checkpoint.use-the-one-before"), Remedy("checkpoint.keep-two")],
    )


def _by_its_end(evidence: Evidence, torn: CutOffFile) -> Finding | None:
    """The words of the error are those of whatever met the end first; the file itself says that it is not whole."""
    if torn.sure and not torn.of_model:
        return None
    if not torn.of_model:
        remedies = [Remedy("checkpoint.use-the-one-before")]
        return Finding(
            Strength.POSSIBLE, Title("checkpoint-torn.perhaps", {"file": torn.path}), torn.facts, remedies
        )
    error = evidence.error
    said = (
        [Fact("error.quoted", {"text": clipped(f"{error.type}: {error.message}")}, error.source)]
        if error
        else []
    )
    before = [Remedy("checkpoint.use-the-one-before")] if torn.sure else []
    return Finding(
        Strength.established_if(torn.sure),
        Title("checkpoint-torn.cut-off" if torn.sure else "checkpoint-torn.open", {"file": torn.path}),
        because=[*said, *user_line(evidence), *torn.facts],
        remedies=[Remedy("file.write-again"), *before, Remedy("file.write-and-rename")],
    )


def _was_there(evidence: Evidence, file: str) -> bool:
    saved = any(file in (save.event.path or "") for save in evidence.all(ev.SaveDone))
    return saved or bool(evidence.earlier) or "not found" not in evidence.error_text.lower()

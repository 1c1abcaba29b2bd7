"""A file that the script was reading and that ends too early: which one, and whether it is a checkpoint or data.

The formats do not say: arrays of a dataset and weights of a model are both kept as npz, HDF5 and pickle. So all that
names the file is counted: who wrote it, who reads it, its name, its folder, the function and the line that take it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.explain.evidence import Evidence
from holdfast.explain.finding import Fact
from holdfast.explain.readings.error import ErrorText, Raised, file_named
from holdfast.explain.readings.numbers import number_of
from holdfast.journal import events as ev
from holdfast.user_code import is_user_file

_READING = re.compile(
    r"load|read|open|decode|decompress|unpickl|restore|parse|inflate|from_file|frombuffer|_check_compatible|zipfile|"
    r"serialization|h5py|npyio|pickle|safetensors|gzip|unpack|from_bytes|msgpack|json|joblib|zarr|orbax",
    re.IGNORECASE,
)
_WRITING = re.compile(r"\b(save|dump|write|to_csv|savez)\w*\(")
#: Code that reads nothing but models, and code that reads nothing but data.
_MODEL_READERS = re.compile(
    r"\bload_(weights|model|checkpoint|state_dict|from_checkpoint)\b|keras/src/saving|safetensors|orbax|tf\.train\.(load_|Checkpoint|latest_)|"
    r"tensorflow/python/(checkpoint|training)|\.restore\(|from_pretrained"
)
_DATA_READERS = re.compile(
    r"torch/utils/data|tensorflow/python/data|pandas|pyarrow|\bcsv\b|\bPIL/|imageio|soundfile|\bpd\."
)
#: Words for a file of arrays that ends too early, and the endings of such files.
_CUT_OFF = ErrorText(r"truncated file: eof|BadZipFile|File is not a zip file")
_ARRAYS = r"npz|h5|hdf5"
_DATA_FUNCTIONS = ("__getitem__", "__iter__", "__next__", "__len__")
_MODEL_FORMATS = re.compile(r"\.(keras|weights\.h5|safetensors|pth|ckpt|index|gguf)$|\.ckpt\b", re.IGNORECASE)
_DATA_FORMATS = re.compile(
    r"\.(tfrecords?|tfrec|records?|csv|tsv|jsonl?|txt|parquet|arrow|feather|avro|jpe?g|png|bmp|gif|webp|tiff?|wav|flac|"
    r"mp3|mp4|avi)$",
    re.IGNORECASE,
)
#: What torch saves is seldom data.
_OFTEN_MODELS = (".pt", ".bin")
#: The states of an environment and the epochs of an EEG are data.
_MODEL_WORDS = re.compile(
    r"(?!states$|epochs$)(ckpt|checkpoint|weight|state|snap|snapshot|model|resume|epoch|step|best|last|latest|optim|"
    r"optimi[sz]er|param|parameter|encoder|decoder|backbone|pretrain|pretrained|ema|net|network|restore)s?"
)
_DATA_WORDS = re.compile(
    r"(data|dataset|train|test|valid|val|validation|image|feature|shard|label|sample|record|x|y|corpus|token|embed|"
    r"embedding|input|target|batch|split|fold|frame|signal|audio|clip|mask|annotation|vocab|table)(e?s)?"
)
_NAME, _FOLDER, _FORMAT, _CODE = 2, 2, 3, 1  # how much each sign counts
#: From here on there is no doubt: one strong sign, or two weak ones that agree.
_CLEAR = 2


class CutOffFile(NamedTuple):
    path: str
    of_model: bool  # else of data; the likelier one where it is not sure
    sure: bool
    facts: list[Fact]  # that it ends too early, and what it is taken for


class _Sign(NamedTuple):
    counts: int  # above 0 for a model
    text: str


def cut_off_file(evidence: Evidence) -> CutOffFile | None:
    """A file in the frames of the error that ends too early, where the error came out of reading."""
    error = evidence.error
    # A worker recorded what it had before the training got the exception as a text.
    with_files = [one for one in evidence.all(ev.AtHandSeen) if one.event.files]
    if not with_files or error is None or error.left not in ("script", "exit", ""):
        return None
    seen = with_files[-1]
    torn = [one for one in seen.event.files if one.get("missing")]
    inner = " ".join([*error.frames[-4:], error.user_code])
    if not torn or not _READING.search(inner) or _WRITING.search(error.user_code):
        return None
    one = torn[0]
    path = str(one.get("path"))
    values = {"path": path, "bytes": number_of(one.get("bytes")), "missing": str(one.get("missing"))}
    return _taken_for(evidence, error, path, seen.fact("file.ends-early", **values))


def data_file_named(evidence: Evidence) -> CutOffFile | None:
    """A file with arrays that the words of the error call cut off, and that is clearly data: nobody looked at it."""
    quote, error = _CUT_OFF.match(evidence), evidence.error
    path = file_named(quote.whole, _ARRAYS) if quote is not None else ""
    if not path or quote is None or error is None:
        return None
    file = _taken_for(evidence, error, path, quote.fact)
    return file if file.sure and not file.of_model else None


def _taken_for(evidence: Evidence, error: Raised, path: str, fact: Fact) -> CutOffFile:
    signs = _known(evidence, error, path) or list(_by_words(error, path))
    total = sum(sign.counts for sign in signs)
    of_model = total > 0 or (total == 0 and path.lower().endswith(_OFTEN_MODELS))
    agree = [sign.text for sign in signs if (sign.counts > 0) == of_model]
    taken = Fact("file.taken-for", {"of_model": of_model, "signs": agree}, error.source)
    return CutOffFile(path, of_model, abs(total) >= _CLEAR, [fact, taken] if agree else [fact])


def _known(evidence: Evidence, error: Raised, path: str) -> list[_Sign]:
    """Where the run itself shows what the file is."""
    whole = os.path.normpath(path)
    for data in evidence.all(ev.DatasetSeen):
        if any(os.path.normpath(file) == whole for file in data.event.files):
            return [_Sign(-_CLEAR, "the dataset reads it")]
    if any(
        save.event.path and os.path.normpath(save.event.path) == whole for save in evidence.all(ev.SaveDone)
    ):
        return [_Sign(_CLEAR, "this run saved it")]
    text = " ".join([*error.frames, error.user_code])
    by_model, by_data = _MODEL_READERS.search(text), _DATA_READERS.search(text)
    if by_model and not by_data:
        return [_Sign(_CLEAR, f"{by_model[0].strip('.(')} reads it")]
    if by_data and not by_model:
        return [_Sign(-_CLEAR, f"{by_data[0].strip('.(')} reads it")]
    by_item = next((name for name in _own_functions(error) if name in _DATA_FUNCTIONS), "")
    return [_Sign(-_CLEAR, f"{by_item} reads it")] if by_item and not by_model else []


def _by_words(error: Raised, path: str) -> Iterator[_Sign]:
    folder, name = os.path.split(path)
    if found := _MODEL_FORMATS.search(name) or _DATA_FORMATS.search(name):
        yield _Sign(_FORMAT if _MODEL_FORMATS.search(name) else -_FORMAT, f"its format {found[0]}")
    models, data = _speaks_of(os.path.splitext(name)[0])
    if models and data:  # "best_val_0.31" is a model's, "label_weights" may be either
        yield _Sign(_CODE, f"its name {name}")
    elif models or data:
        yield _Sign(_NAME if models else -_NAME, f"its name {name}")
    for part in [part for part in reversed(folder.split("/")) if any(_speaks_of(part))][:1]:
        if weight := _balance(part):
            yield _Sign(_FOLDER * weight, f"its folder {part}")
    for function in [function for function in _own_functions(error) if _balance(function)][:1]:
        yield _Sign(_CODE * _balance(function), f"the function {function}")
    if weight := _balance(error.user_code):
        yield _Sign(_CODE * weight, "the line that reads it")


def _own_functions(error: Raised) -> Iterator[str]:
    """The user's functions around the line that reads, innermost first."""
    places = [frame.partition(" ")[::2] for frame in error.frames]
    last = max((at for at, (place, _) in enumerate(places) if place == error.user_line), default=-1)
    for place, function in reversed(places[: last + 1]):
        if is_user_file(place.rpartition(":")[0]):
            yield function


def _balance(text: str) -> int:
    models, data = _speaks_of(text)
    return int(models) - int(data)


def _speaks_of(text: str) -> tuple[bool, bool]:
    """Whether there are words of models, and words of data."""
    text = re.sub(r"train(ing)?_?(?=state|step)", "", text, flags=re.IGNORECASE)
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text)]
    return any(map(_MODEL_WORDS.fullmatch, words)), any(map(_DATA_WORDS.fullmatch, words))

"""Weights and configurations of others: state dicts, checkpoints of TensorFlow and pipeline.config, mutated."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.weights_import.object_detection_api.checkpoint_path import find_checkpoint
from holdfast.weights_import.object_detection_api.import_config import read_config
from holdfast.weights_import.object_detection_api.import_report import recipe_text
from holdfast.weights_import.object_detection_api.object_graph import read_graph
from holdfast.weights_import.object_detection_api.tensor_bundle import open_bundle
from holdfast.weights_import.torchvision.state_dict import read_state_dict
from tests.fuzz import mutations
from tests.weights_import.object_detection_api import bundle_writer, configs
from tests.weights_import.torchvision import written_state_dict

LABELS = "item { id: 1 name: 'cat' }\nitem { id: 2 name: 'dog' display_name: \"Dog\" }\n"
_ARRAYS = {
    "head.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "head.half": np.ones((5, 3), np.float16).T,
    "body.count": np.array(7, np.int64),
}
_NUMBERS = (0, 1, 3, 4, 24, 255, 2**20, 2**31 - 1, 2**31, 2**40, 2**62, 2**64)
_OPCODES = (
    b"(.012FIJKLMNQRSTUVX]abcdehijlopqrstu}\x80\x85\x86\x87\x88\x8a\x8c\x8e\x90\x93\x94\x95\x96\x97\x98"
)
_ODD_TOKENS = (
    "-1", "0", "1e308", "1e999", "-inf", "nan", "9" * 25, "9" * 5000, "0x10", "true", "''", '"\\x1b[2J"', '"\\777"',
    "{", "}", "<", "[", "]", ":", "{ " * 5000, "[1, 2]", "..", "'../../../../etc/passwd'", '"' + "x" * 5000 + '"',
)  # fmt: skip


def seeds(work: Path) -> None:
    folder = work / "weights"
    folder.mkdir()
    entries, storages = written_state_dict.entries_of(_ARRAYS)
    written_state_dict.zipped(written_state_dict.state(entries), storages, folder / "zipped.pth")
    lengths = {str(at): array.size for at, array in enumerate(_ARRAYS.values())}
    written_state_dict.chained(written_state_dict.state(entries), storages, lengths, folder / "chained.pth")


def state_dict(rng: random.Random, work: Path) -> str:
    """The bytes of a file, or right bytes around another pickle or other shapes."""
    bad = work / "bad.pth"
    entries, storages = written_state_dict.entries_of(_ARRAYS)
    lengths = {str(at): array.size for at, array in enumerate(_ARRAYS.values())}
    if rng.random() < 0.3:
        source = work / "weights" / rng.choice(("zipped.pth", "chained.pth"))
        bad.write_bytes(rng.choice(mutations.BYTES)(rng, source.read_bytes()))
    else:
        if rng.random() < 0.5:
            numbers = [rng.choice(_NUMBERS) for _ in range(6)]
            entries["odd"] = written_state_dict.tensor(
                rng.choice(("0", "1", "none")), rng.choice(list(written_state_dict.STORAGES)), numbers[0],
                tuple(numbers[1:3]), tuple(numbers[3:5]), numbers[5],
            )  # fmt: skip
        content = written_state_dict.state(entries)
        if rng.random() < 0.6:
            content = rng.choice((*mutations.BYTES, _opcodes))(rng, content)
        if rng.random() < 0.2:
            lengths["0"] = rng.choice((-1, 0, 10**6, 2**62))
        if rng.random() < 0.5:
            written_state_dict.zipped(content, storages, bad)
        else:
            written_state_dict.chained(content, storages, lengths, bad)
    try:
        for _, array in read_state_dict(bad).arrays():
            assert array.nbytes < 1 << 20
    except HoldfastError as error:
        return error.slug
    return "read"


def _opcodes(rng: random.Random, data: bytes) -> bytes:
    """Other instructions of a pickle in some places."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 3, 10))):
        out[rng.randrange(len(out))] = rng.choice(_OPCODES)
    return bytes(out)


def tensor_bundle(rng: random.Random, work: Path) -> str:
    """A checkpoint whose bytes changed, or whose tables and graph say something else under right checksums."""
    prefix = work / "bad" / "ckpt-0"
    prefix.parent.mkdir(exist_ok=True)
    paths = {"model/a/kernel": "model/a/kernel/V", "model/b/kernel": "model/a/kernel/V"}
    graph = bundle_writer.object_graph(paths)
    if rng.random() < 0.4:
        graph = rng.choice(mutations.BYTES)(rng, graph)
    tensors = {"model/a/kernel/V": _ARRAYS["head.weight"], "step": _ARRAYS["body.count"]}
    bundle_writer.write_bundle(prefix, tensors, graph=graph)
    kind = rng.random()
    if kind < 0.3:
        victim = rng.choice(sorted(prefix.parent.glob("ckpt-0.*")))
        victim.write_bytes(rng.choice(mutations.BYTES)(rng, victim.read_bytes()))
    elif kind < 0.7:
        entries = _odd_entries(rng)
        block = bundle_writer.pairs(entries)
        if rng.random() < 0.5:
            block = rng.choice(mutations.BYTES)(rng, block)
        table = bundle_writer.table(entries, block=block, compression=rng.choice((0, 0, 1, 7)))
        prefix.with_name("ckpt-0.index").write_bytes(table)
    try:
        bundle = open_bundle(find_checkpoint(prefix))
        found = read_graph(bundle)
        if found is not None:
            for path in paths:
                found.key_of(path)
            found.children_of("model")
        for name, entry in bundle.tensors.items():
            if entry.dtype != 7:
                bundle.read(name)
    except HoldfastError as error:
        return error.slug
    return "read"


def _odd_entries(rng: random.Random) -> Mapping[bytes, bytes]:
    def one(name: str) -> bytes:
        shape = tuple(rng.choice(_NUMBERS) for _ in range(rng.choice((0, 1, 2, 9))))
        data = bytes(rng.choice((0, 4, 96)))
        return bundle_writer.entry(
            rng.choice((1, 2, 3, 7, 10, 14, 19, 99)), shape, rng.choice(_NUMBERS), data
        )

    header = rng.choice((bundle_writer.field(1, 1), bundle_writer.field(1, 2**63), b"", b"\xff" * 12))
    return {b"": header, **{name.encode(): one(name) for name in ("model/a/kernel/V", "s\x1b]0;x\x07")}}


def pipeline_config(rng: random.Random, work: Path) -> str:
    """A configuration with other bytes or other values, and a label map that may be changed too."""
    folder = work / "config"
    folder.mkdir(exist_ok=True)
    text = (rng.choice(list(configs.MODELS.values())) + configs.TRAINING).encode()
    labels = LABELS.encode()
    if rng.random() < 0.2:
        labels = rng.choice((*mutations.BYTES, _tokens))(rng, labels)
    else:
        text = rng.choice((*mutations.BYTES, _tokens, _tokens, _tokens, _lines))(rng, text)
    (folder / "labels.pbtxt").write_bytes(labels)
    path = folder / "pipeline.config"
    path.write_bytes(text)
    try:
        recipe_text(read_config(path).recipe, path)
    except HoldfastError as error:
        return error.slug
    return "read"


def _tokens(rng: random.Random, data: bytes) -> bytes:
    words = re.split(rb"(\s+)", data)
    for _ in range(rng.choice((1, 1, 3, 20))):
        words[rng.randrange(len(words))] = rng.choice(_ODD_TOKENS).encode()
    return b"".join(words)


def _lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    return b"\n".join(lines[:at] + lines[at : at + 1] * rng.choice((0, 2, 1000)) + lines[at + 1 :])

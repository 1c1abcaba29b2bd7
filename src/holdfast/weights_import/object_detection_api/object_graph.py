"""What the objects of a TF2 checkpoint are called: its object graph, walked from the root by attribute names.

A variable that several attributes reach is stored under one of the ways to it, and which one depends on the version
of TensorFlow that wrote it. The graph knows all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.weights_import.object_detection_api.tensor_bundle import BadCheckpoint, TensorBundle
from holdfast.weights_import.object_detection_api.wire_format import BadWireFormat, fields

GRAPH_NAME = "_CHECKPOINTABLE_OBJECT_GRAPH"


@dataclass(frozen=True, slots=True)
class _Node:
    children: Mapping[str, int]
    key: str  # of its value in the checkpoint; empty for an object that is no variable


@dataclass(frozen=True, slots=True)
class ObjectGraph:
    nodes: tuple[_Node, ...]

    def key_of(self, path: str) -> str | None:
        """Under which key the variable at this path is stored, such as "model/_box_predictor/…/kernel"."""
        node = self._at(path)
        return (node.key or None) if node is not None else None

    def children_of(self, path: str) -> tuple[str, ...]:
        node = self._at(path)
        return tuple(node.children) if node is not None else ()

    def _at(self, path: str) -> _Node | None:
        at = 0
        for name in path.split("/") if path else ():
            if at >= len(self.nodes) or name not in self.nodes[at].children:
                return None
            at = self.nodes[at].children[name]
        return self.nodes[at] if at < len(self.nodes) else None


def read_graph(bundle: TensorBundle) -> ObjectGraph | None:
    """None where the checkpoint has no graph: one of TF1, whose variables have names of scopes."""
    if GRAPH_NAME not in bundle.tensors:
        return None
    try:
        content = bundle.read_string(GRAPH_NAME)
        return ObjectGraph(tuple(_node(part) for number, part in fields(content) if number == 1))
    except (BadWireFormat, UnicodeDecodeError) as error:
        raise BadCheckpoint(
            "the checkpoint's object graph cannot be read",
            where=bundle.prefix,
            found=str(error),
            change="copy the checkpoint again, with all its files",
        ) from error


def _node(data: int | bytes) -> _Node:
    children: dict[str, int] = {}
    key = ""
    for number, part in fields(_message(data)):
        if number == 1:
            child = dict(fields(_message(part)))
            index = child.get(1, 0)
            if not isinstance(index, int):
                raise BadWireFormat("an object whose number is not one")
            children[_message(child.get(2, b"")).decode()] = index
        elif number == 2:
            attribute = dict(fields(_message(part)))
            if attribute.get(1, b"VARIABLE_VALUE") == b"VARIABLE_VALUE":
                key = _message(attribute.get(3, b"")).decode()
    return _Node(children, key)


def _message(part: int | bytes) -> bytes:
    if not isinstance(part, bytes):
        raise BadWireFormat("a number where a message belongs")
    return part

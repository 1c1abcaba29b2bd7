"""The values inside nested dictionaries, lists and tuples, as batches and element specs come."""

from __future__ import annotations

from typing import Any


def leaves(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]

"""Names of `typing` that the oldest Python of a user does not have; the type checker sees the real ones.

Imported by what runs in the user's process, from Python 3.7 on.
"""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 8):
    from typing import Literal as Literal
    from typing import Protocol as Protocol
else:

    class _Anything:
        def __getitem__(self, values: Any) -> Any:
            return Any

    Literal = _Anything()
    Protocol = object

if sys.version_info >= (3, 11):
    from typing import Self as Self
    from typing import dataclass_transform as dataclass_transform
else:

    def dataclass_transform(**settings: Any) -> Any:
        return lambda kind: kind

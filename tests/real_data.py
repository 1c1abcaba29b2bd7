"""Where the public datasets and weights are that some tests read; they are not part of the repository.

HOLDFAST_TEST_DATA names a folder with `data/<dataset>`, `weights/<backbone>` and `articles`; CONTRIBUTING.md lists the
sources. Without the variable, a folder `shared` beside the checkout is used. Tests skip what is not there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared"
ROOT = Path(os.environ.get("HOLDFAST_TEST_DATA") or _BESIDE)
DATA = ROOT / "data"
WEIGHTS = ROOT / "weights"
ARTICLES = next((path for path in (ROOT / "articles", ROOT / "seeds") if path.is_dir()), ROOT / "articles")


def needs(*folders: Path) -> pytest.MarkDecorator:
    """Skips a test, or a whole module as `pytestmark`, where one of the folders is missing."""
    missing = [str(folder.relative_to(ROOT)) for folder in folders if not folder.is_dir()]
    reason = f"HOLDFAST_TEST_DATA has no {', '.join(missing)} (CONTRIBUTING.md says where to get it)"
    return pytest.mark.skipif(bool(missing), reason=reason)

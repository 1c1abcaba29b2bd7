"""Before a run in a cloud: what the recipe and the cloud's variables name is there, readable and writable, and
near.
"""

from __future__ import annotations

import contextlib
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

from holdfast.data.dataset_reader import Problem
from holdfast.data.files import cloud_copy
from holdfast.data.files import filesystem as files_filesystem
from holdfast.errors import HoldfastError, PathMissing
from holdfast.settings.recipe import Recipe

PROBE_FILE = ".holdfast-check"
VARIABLES = ("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR", "AIP_TENSORBOARD_LOG_DIR")
SAMPLE_S, SAMPLE_FILES = 3.0, 12
LONG_COPY_S = 1800.0
METADATA = "http://metadata.google.internal/computeMetadata/v1/instance/zone"


def problems(recipe: Recipe, environment: Mapping[str, str]) -> list[Problem]:
    """In the order in which they would stop a run."""
    found: list[Problem] = []
    for key in ("train", "validation"):
        url = getattr(recipe.data, key)
        if url and files_filesystem.is_url(url):
            found += _readable(f"data.{key}", url)
    for name, url in _written(recipe, environment).items():
        found += _writable(name, url)
    return found


def _written(recipe: Recipe, environment: Mapping[str, str]) -> dict[str, str]:
    """What is written to, by the name of the setting or variable that says so."""
    named = {name: environment[name] for name in VARIABLES if environment.get(name)}
    if recipe.hardware.copy_to:
        named["hardware.copy_to"] = recipe.hardware.copy_to
    return named


def _readable(name: str, url: str) -> list[Problem]:
    try:
        cloud_copy.require_bucket(url)
        rate, whole = throughput(url)
    except HoldfastError as error:
        return [Problem("cloud-unreadable", url, f"{name}: {_error_text(error)}")]
    found = []
    takes_s = whole / rate if rate else 0.0
    if takes_s > LONG_COPY_S:
        detail = (
            f"{name}: {whole / 2**30:.1f} GiB at the measured {rate / 1e6:.1f} MB/s take {takes_s / 60:.0f} minutes "
            "to copy before the first step"
        )
        found.append(Problem("cloud-slow", url, detail))
    return [*found, *_region_problems(name, url)]


def throughput(url: str) -> tuple[float, int]:
    """Bytes a second of reading some of its files one after the other, and the bytes of all."""
    filesystem, inner = files_filesystem._filesystem(url)
    files = cloud_copy.retry(lambda: filesystem.find(inner, detail=True), url)
    if not files:
        raise PathMissing("there is nothing at this address of the bucket", where=url)
    began, read = time.monotonic(), 0
    for name in list(files)[:: max(1, len(files) // SAMPLE_FILES)][:SAMPLE_FILES]:
        read += len(cloud_copy.retry(lambda at=name: filesystem.cat_file(at), url))  # type: ignore[misc]
        if time.monotonic() - began > SAMPLE_S:
            break
    whole = sum(int(about["size"]) for about in files.values())
    return read / max(1e-6, time.monotonic() - began), whole


def _writable(name: str, url: str) -> list[Problem]:
    """Writes, reads and removes a few bytes."""
    if not files_filesystem.is_url(url) and not url.startswith("/"):
        return [Problem("cloud-unwritable", url, f"{name} is neither a URL nor a whole path")]
    if not files_filesystem.is_url(url):
        return []
    try:
        cloud_copy.require_bucket(url)
        filesystem, inner = files_filesystem._filesystem(f"{url.rstrip('/')}/{PROBE_FILE}")
        cloud_copy.retry(lambda: filesystem.pipe_file(inner, b"holdfast"), url)
        if cloud_copy.retry(lambda: filesystem.cat_file(inner), url) != b"holdfast":
            return [
                Problem("cloud-unwritable", url, f"{name}: what was written does not come back as it was")
            ]
        cloud_copy.retry(lambda: filesystem.rm_file(inner), url)
    except HoldfastError as error:
        return [Problem("cloud-unwritable", url, f"{name}: {_error_text(error)}")]
    return _region_problems(name, url)


def _region_problems(name: str, url: str) -> list[Problem]:
    """A bucket in another region than this machine, where both can be known."""
    here, there = machine_region(), bucket_region(url)
    if not here or not there or there.lower() in (here, here.split("-")[0], "us", "eu", "asia"):
        return []
    return [Problem("cloud-far", url, f"{name}: the bucket is in {there}, this machine in {here}")]


def bucket_region(url: str) -> str:
    with contextlib.suppress(Exception):  # not every store says, and it is no reason to stop
        filesystem, inner = files_filesystem._filesystem(url)
        return str(filesystem.info(inner.split("/")[0]).get("location", ""))
    return ""


def machine_region() -> str:
    """From Google's metadata server; empty elsewhere."""
    request = urllib.request.Request(METADATA, headers={"Metadata-Flavor": "Google"})
    try:
        with urllib.request.urlopen(request, timeout=0.5) as answer:
            zone: str = answer.read().decode().rpartition("/")[2]
    except (OSError, ValueError):
        return ""
    return zone.rpartition("-")[0]


def _error_text(error: Any) -> str:
    found = error.found if isinstance(error.found, str) else "; ".join(error.found or [])
    return f"{error.what} ({found})" if found else str(error.what)

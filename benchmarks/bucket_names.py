"""What listing a bucket keeps in memory for each object: `python benchmarks/bucket_names.py [--names 20000 100000]`.

A server of this machine answers Google's and S3's requests for names as the storages do, with all that they say of an
object where all is asked for. Peaks of private memory (RssAnon) of a process that lists them: as Holdfast does, and as
the client's own `find` does, which Holdfast used before.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.data.files import test_bucket_names as storage
from tests.ray_cluster.memory import Peak

LISTS = """
import fsspec, sys
from holdfast.data.files import bucket_names
kind, url, how = sys.argv[1:]
keys = {"token": "anon"} if kind == "gs" else {"key": "k", "secret": "s"}
client = fsspec.filesystem(kind, endpoint_url=url, **keys)
names = bucket_names.below(client, "shop/data") if how == "pages" else sorted(client.find("shop/data"))
print(len(names))
"""
#: What Google says of an object unless only its name is asked for.
OBJECT: dict[str, Any] = {
    "kind": "storage#object", "bucket": "shop", "generation": "1763500000000000", "metageneration": "1",
    "contentType": "image/jpeg", "storageClass": "STANDARD", "size": "163840", "md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg==",
    "crc32c": "AAAAAA==", "etag": "CICAgICAgIADEAE=", "timeCreated": "2026-11-19T20:00:00.000Z",
    "updated": "2026-11-19T20:00:00.000Z", "timeStorageClassUpdated": "2026-11-19T20:00:00.000Z",
    "timeFinalized": "2026-11-19T20:00:00.000Z",
}  # fmt: skip


def described(name: str) -> dict[str, Any]:
    place = f"shop/o/{name.replace('/', '%2F')}"
    links = {"selfLink": f"https://www.googleapis.com/storage/v1/b/{place}",
             "mediaLink": f"https://storage.googleapis.com/download/storage/v1/b/{place}?alt=media"}  # fmt: skip
    return OBJECT | links | {"id": f"shop/{name}/1763500000000000", "name": name}


def peak_of(kind: str, url: str, how: str, count: int) -> int:
    environment = os.environ | {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}
    words = [sys.executable, "-c", LISTS, kind, url, how]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment)
    peak = Peak()
    with peak.of(process):
        out, _ = process.communicate()
    if out.split() != [str(count).encode()]:
        raise SystemExit(f"{kind}, {how}: {out!r} instead of {count} names")
    return peak.command


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", type=int, nargs="+", default=[20_000, 100_000])
    counts = parser.parse_args().names
    server = ThreadingHTTPServer(("127.0.0.1", 0), storage.Lists)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    print(f"names: {counts}\n\n| storage | listed by | MiB | each name more |\n|---|---|---|---|")
    for kind in ("gs", "s3"):
        for how in ("pages", "find"):
            storage.Lists.described = staticmethod(described if how == "find" else storage.only_name)
            peaks = []
            for count in counts:
                storage.Lists.names = [f"data/{at // 1000:05d}/{at:08d}.jpg" for at in range(count)]
                peaks.append(peak_of(kind, url, how, count))
            each = (peaks[-1] - peaks[0]) / max(1, counts[-1] - counts[0])
            shown = ", ".join(str(one >> 20) for one in peaks)
            print(f"| {kind} | {how} | {shown} | {each:.0f} bytes |", flush=True)


if __name__ == "__main__":
    main()

"""Installs the wheel of a release into empty environments and tries it: `python -m tests.release dist`.

Every Python from 3.11 on that is on this machine gets an environment of its own. The wheel is installed alone, without
any extra, and used as a new user would. In the oldest and the newest Python pip resolves what each extra of the wheel
would install. `--extras` names those to resolve, and `none` skips that, which needs a package index.
"""

from __future__ import annotations

import argparse
import email
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

MINORS = (11, 12, 13, 14)
NEEDED = (
    "holdfast/py.typed",
    "holdfast/explain/pages/disk-full.md",
    "holdfast/report/page/page.css",
    "holdfast/probe/inject/sitecustomize.py",
    "holdfast/memory/gpu_descriptions/gpus.json",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--extras", default="all")
    args = parser.parse_args()
    (wheel,) = args.dist.resolve().glob("*.whl")
    assert len(list(args.dist.glob("*.tar.gz"))) == 1, "there is one sdist"
    check_files(wheel)
    chosen = {"all": extras_of(wheel), "none": []}
    extras = chosen[args.extras] if args.extras in chosen else args.extras.split(",")
    pythons = list(interpreters())
    assert pythons, "no Python from 3.11 on was found"
    tried = [try_python(one, wheel, extras if one in (pythons[0], pythons[-1]) else []) for one in pythons]
    print(f"release: {wheel.name} works in Python {', '.join(tried)}")
    return 0


def check_files(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [name for name in NEEDED if name not in names]
    assert not missing, f"the wheel lacks {missing}"
    strange = [name for name in names if not name.startswith(("holdfast/", "holdfast-"))]
    assert not strange, f"the wheel has files outside the package: {strange[:5]}"


def extras_of(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as inside:
        (name,) = [one for one in inside.namelist() if one.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(inside.read(name))
    return metadata.get_all("Provides-Extra", [])


def interpreters() -> Iterator[str]:
    """One of each version; pyenv's are asked for where the name alone finds none."""
    for minor in MINORS:
        named = shutil.which(f"python3.{minor}")
        pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
        listed = [*([named] if named else []), *sorted(map(str, pyenv.glob(f"3.{minor}.*/bin/python")))]
        working = next((one for one in listed if _version(one) == f"3.{minor}"), None)
        if working is None:
            print(f"release: there is no Python 3.{minor} here: not tried", flush=True)
        else:
            yield working


def _version(python: str) -> str:
    """A shim of pyenv exists for every version and may start none."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def try_python(python: str, wheel: Path, extras: list[str]) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([python, "-m", "venv", folder / "env"], check=True)
        inside = folder / "env" / "bin"
        subprocess.run([inside / "pip", "install", "--quiet", wheel], check=True)
        version = _use(inside, folder)
        print(f"release: Python {version}: installed, watched a run, explained it", flush=True)
        for extra in extras:
            resolve(extra, wheel, inside)
            print(f"release: Python {version}: the extra {extra} resolves", flush=True)
        return version


def _use(inside: Path, folder: Path) -> str:
    """What a new user does first; without any extra."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "HOLDFAST"))
    }

    def holdfast(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [inside / "holdfast", *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, (
            f"holdfast {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
        return done.stdout + done.stderr

    script = folder / "train.py"
    script.write_text("print('epoch 1')\nopen('/no/such/data.csv')\n")
    holdfast("--help")
    text = holdfast("run", "--notify", "cat > message.txt", "--", str(inside / "python"), "train.py", code=1)
    assert "verdict[path-missing]" in text, text
    assert (
        json.loads(holdfast("explain", "runs/train-1", "--json", code=1))["findings"][0]["cause"]
        == "path-missing"
    )
    assert "verdict[path-missing]" in (folder / "message.txt").read_text()
    holdfast("report", "runs/train-1")
    holdfast("causes", "disk-full")
    assert 'pip install "holdfast[' in holdfast("check", ".", code=2)
    report = json.loads(holdfast("doctor", "--json"))
    return next(one["detail"] for one in report["checks"] if one["check"] == "Python").split(",")[0]


def resolve(extra: str, wheel: Path, inside: Path) -> None:
    """pip finds versions of everything that the extra names, for this environment; nothing is installed."""
    asked = f"{wheel}[{extra}]"
    done = subprocess.run(
        [inside / "pip", "install", "--quiet", "--dry-run", "--ignore-installed", asked],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"the extra {extra} cannot be resolved:\n{done.stderr[-2000:]}"


if __name__ == "__main__":
    sys.exit(main())

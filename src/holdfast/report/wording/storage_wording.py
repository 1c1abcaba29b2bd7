"""Sentences of causes in files and disks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.report.wording.advice import Advice
from holdfast.report.wording.template import Text

_CAUGHT = "[{caught:if}; the script caught it and continued]"

TITLES: dict[str, Text] = {
    "disk-full": f"the disk is full[ at {{path}}]: a file could not be written{_CAUGHT}",
    "disk-full.file-size-limit": "the limit on the size of a file (ulimit -f) was reached[ at {path}]"
    + _CAUGHT,
    "checkpoint-torn": "the checkpoint[ {file}] is corrupt: a process was ended while it wrote",
    "checkpoint-torn.cut-off": "the checkpoint {file} is cut off",
    "checkpoint-torn.open": "the file {file} is cut off; whether it holds weights or data is not known",
    "checkpoint-torn.perhaps": "{file} may be a checkpoint",
    "cache-lock-stale": "the cache's lock file[ {file}] was left by a run that was killed",
    "file-locked": "the file[ {file}] is locked by another process",
    "file-locked.waits": "it waits for the lock of {file:or a file}, which another process has",
    "file-locked.not-supported": "the file system does not support locks",
    "file-locked.database": "the database[ {file}] is locked by another connection, of this process or of another",
    "storage-failed": "the disk or file system[ of {path}] gives errors",
    "storage-failed.gone": "the mount[ of {path}] is gone: its server or its process does not answer any more",
    "storage-failed.server": "the object store[ at {address}] gives errors, again and again",
    "too-many-open-files": "too many files are open[: the limit is {limit}]",
    "path-missing": "{path:or a file} is not there",
    "path-missing.folder": "{path} cannot be written: its folder {folder} is not there",
    "path-missing.checkpoint": "it waits for a checkpoint that is not there",
    "path-missing.variable": "the environment variable {name} is not set",
    "path-missing.scheme": "TensorFlow cannot read addresses[ of the scheme {scheme}]",
    "permission-denied": "{path:or a file} may not be read or written by this user",
    "permission-denied.read-only": "{path:or a file} cannot be written: its file system is mounted read-only",
    "permission-denied.credentials": "the storage does not accept the credentials: "
    "there are none, they are wrong or have expired[ ({address})]",
    "permission-denied.bucket": "the credentials may not do this[ with {address}]",
}

FACTS: dict[str, Text] = {
    "checkpoint.never-written": "{callback} was to write it[ when {monitor} improves][ every {save_freq} steps], "
    "and did not in {epochs:count epoch}",
    "save.failed": "saving {path}[ ({where})] ended with {error:clip 120}[; {free_bytes:size} were free]",
    "save.succeeded-later": "saving {path:or again} succeeded after it",
    "disk.low": "the disk of '{disk}' had {free_bytes:size} left",
    "file.mapped": "{path} is {size_bytes:size} long and has {stored_bytes:size} of its file system, which has "
    "{free_bytes:size} left[; {mapped_bytes:size} of it were mapped into memory]",
    "disk-full.crash": lambda values: {
        "SIGBUS": "SIGBUS is the kernel's signal for a page of a mapped file that cannot be had",
        "SIGSEGV": "the crash (SIGSEGV) followed from it: HDF5 crashes on a full disk",
        "SIGXFSZ": "SIGXFSZ is the kernel's signal for exceeding the file-size limit",
    }[values["signal"]],
    "limit.file-size": "no file may be larger than {limit_bytes:size} (ulimit -f)",
    "limit.open-files": "the limit is {limit}",
    "files.open": "open files went from {first} to {last}",
    "checkpoint.file": lambda values: (
        f"{values['file']} is there, and is not a complete zip file"
        if values["is_there"]
        else f"the file is {values['file']}"
    ),
    "checkpoint.awaited": "it waits for a checkpoint that is not in the folder it looks into",
    "attempt.killed-before": "attempt {attempt} was ended by {signal} before",
    "error.not-in-loading": "the failing call does not look like loading",
    "pipeline.caches-to-file": "the pipeline caches to a file[ ({where})]",
    "path.holds-none": "'None' in the path: an environment variable or a setting was empty",
}


def _log_in(values: Mapping[str, Any]) -> str:
    return {
        "google": "gcloud auth application-default login",
        "amazon": "aws sts get-caller-identity   # who am I? then: aws configure",
        "azure": "az login",
        "huggingface": "huggingface-cli login   # and accept the terms on the model's page",
    }.get(values["of"], "")


def _allow(values: Mapping[str, Any]) -> str:
    return {
        "google": "gcloud storage buckets add-iam-policy-binding gs://BUCKET --member=… --role=…",
        "amazon": "aws s3api get-bucket-policy --bucket BUCKET",
        "azure": 'az role assignment create --role "Storage Blob Data Contributor" --assignee … --scope …',
    }.get(values["of"], "")


REMEDIES: dict[str, Advice] = {
    "disk.make-room": Advice("make room, or write checkpoints to a larger disk"),
    "limit.raise-file-size": Advice("raise the limit (`ulimit -f unlimited`), or write smaller files"),
    "checkpoint.keep-fewer": Advice(
        "keep fewer checkpoints, and check the last one: it was overwritten in place and may be corrupt",
        'keras.callbacks.ModelCheckpoint("best.keras", save_best_only=True)',
    ),
    "checkpoint.use-the-one-before": Advice("resume from the checkpoint before it; remove the corrupt one"),
    "checkpoint.keep-two": Advice(
        "write so that a kill cannot corrupt it: two files in turn, or write and rename",
        'keras.callbacks.BackupAndRestore("backup", double_checkpoint=True)',
    ),
    "file.write-again": Advice(
        "write or copy the file again: from where it came, or with the program that made it"
    ),
    "file.write-and-rename": Advice(
        "write to another name first, and rename: what ends the writer then leaves no half file",
        'os.replace(path + ".part", path)',
    ),
    "run.start-again": Advice("start it again: TensorFlow has removed the lock, and the next run works"),
    "cache.remove-locks": Advice(
        "remove the cache's *.lockfile and *.tempstate* files; a cache for each run avoids it",
        'ds = ds.cache(f"/tmp/cache-{os.getpid()}")',
    ),
    "file.lock-with-timeout": Advice(
        "ask for the lock without waiting, and try again for a limited time",
        "fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)",
    ),
    "file.end-the-other-process": Advice(
        "end the other process that has it open, or write to a file of its own"
    ),
    "file.without-locks": Advice("on a file system without locks", "HDF5_USE_FILE_LOCKING=FALSE"),
    "database.close-the-other": Advice(
        "commit or close the other connection before this one writes", "connection.commit()"
    ),
    "database.wait-longer": Advice("wait longer for it", "sqlite3.connect(path, timeout=60)"),
    "file.close": Advice(
        "close the files that it opens", 'with open(path, "rb") as file:\n    data = file.read()'
    ),
    "file.reserve-first": Advice(
        "reserve the space before mapping it, so that a full disk raises an error",
        "os.posix_fallocate(file.fileno(), 0, size)   # {path}",
    ),
    "limit.raise-open-files": Advice("raise the limit, if so many are needed", "ulimit -n 65536"),
    "folder.make": Advice("make the folder before writing to it", 'os.makedirs("{folder}", exist_ok=True)'),
    "folder.find-what-removed-it": Advice("look for what removed it, if it was there when the run began"),
    "path.check": Advice(
        lambda values: (
            f"check {values['path']}: the working folder, the mount, the spelling"
            if values["path"]
            else "check the path"
        )
    ),
    "path.write-elsewhere-or-mount": Advice(
        "write somewhere else, or mount it for writing", "findmnt -T {folder}"
    ),
    "path.change-permissions": Advice(
        lambda values: (
            f"write somewhere else, or change the permissions of {values['path']}"
            if values["path"]
            else "change the permissions"
        ),
        "[ls -ld {path}]",
    ),
    "credentials.log-in": Advice("log in again, or name a key that is valid", _log_in),
    "credentials.allow": Advice("give the account the right, or use another account", _allow),
    "storage.resume-later": Advice(
        "resume later from the last checkpoint; the provider's status page says whether it is known"
    ),
    "storage.mount-again": Advice(
        "mount it again, and resume from the last checkpoint", "[findmnt -T {path}]"
    ),
    "storage.look-at-device": Advice(
        "look at what the kernel says of the device: a disk that fails gets worse", "dmesg | grep -i 'error'"
    ),
    "storage.copy-elsewhere": Advice("copy the data and the checkpoints to another disk before the next run"),
    "variable.set": Advice("set it before the run", "export {name}=…"),
}

RULED_OUT: dict[str, Text] = {}

"""Every data job, killed and started again: what was finished is not done again, and the result is the same."""

from __future__ import annotations

from tests.ray_cluster.memory import many_images
from tests.ray_cluster.ray_jobs import Jobs, finished, kill_the_driver, tree


def every_job(jobs: Jobs) -> None:
    _prints(jobs, "check", ("check", "data", "--json", "--no-speed"))
    _writes(jobs, "data repair", ("data", "repair", "data", "OUT"), "images/*", reuses=True)
    _writes(jobs, "data convert to COCO", ("data", "convert", "clean", "OUT", "--to", "coco"), "images/*")
    records = ("data", "convert", "clean", "OUT", "--to", "tfrecord", "--shards", "8")
    _writes(jobs, "data convert to TFRecord", records, "*.tfrecord")
    _packs(jobs)
    predict = ("predict", "model.npz", *_images(jobs)[:24], "--batch", "1", "--json", "--score", "0.01")
    _prints(jobs, "predict", predict)
    _prints(jobs, "eval", ("eval", "model.npz", "few", "--batch", "1", "--json"))


def _images(jobs: Jobs) -> list[str]:
    return sorted(f"clean/images/{path.name}" for path in (jobs.folder / "clean" / "images").iterdir())


def _prints(jobs: Jobs, name: str, words: tuple[str, ...]) -> None:
    """A job whose finished shards are kept in the cache."""
    cache = f"killed {name}"
    stored = jobs.cache(cache) / "holdfast" / "shards"
    whole = jobs.timed(*words, workers="1", cache="whole")
    gone = jobs.timed(*words, workers="auto", cache=cache, harm=kill_the_driver(stored, at=3))
    again = jobs.timed(*words, workers="auto", cache=cache)
    reused = again.said("by an earlier start")
    jobs.row(f"{name}, killed", whole.digest, again.digest, f"ended {gone.code}; then {reused}")
    jobs.require(bool(reused), f"{name}: finished shards were used")
    jobs.require(not finished(stored), f"{name}: nothing is left of them at the end")


def _writes(jobs: Jobs, name: str, words: tuple[str, ...], pattern: str, *, reuses: bool = False) -> None:
    """A job whose finished files wait in DST.partial."""
    slug = name.replace(" ", "-")
    whole, cut = (f"{slug}-{kind}" for kind in ("whole", "cut"))
    jobs.timed(*(whole if word == "OUT" else word for word in words), workers="1")
    wanted = [cut if word == "OUT" else word for word in words]
    partial = jobs.folder / f"{cut}.partial"
    gone = jobs.timed(*wanted, workers="auto", cache=cut, harm=kill_the_driver(partial, pattern, at=3))
    before = finished(partial, pattern)
    again = jobs.timed(*wanted, workers="auto", cache=cut)
    after = {
        partial / path.relative_to(jobs.folder / cut): inode
        for path, inode in finished(jobs.folder / cut).items()
    }
    kept = sum(after.get(path) == inode for path, inode in before.items())
    said = f"ended {gone.code}; {kept} of {len(before)} finished files are the same file {again.said('earlier start')}"
    jobs.row(f"{name}, killed", tree(jobs.folder / whole), tree(jobs.folder / cut), said)
    jobs.require(bool(before) and kept == len(before), f"{name}: what was finished was not written again")
    jobs.require(
        not reuses or bool(again.said("earlier start")), f"{name}: what was checked was not checked again"
    )


def _packs(jobs: Jobs) -> None:
    def words(where: str) -> tuple[str, ...]:
        return ("data", "pack", "many", "--size", "64", "--cache", where)

    many_images(jobs.folder / "many", 1_200)  # a shard has 256
    jobs.timed(*words("packs-whole"), workers="1")
    cut = jobs.folder / "packs-cut"
    gone = jobs.timed(*words("packs-cut"), workers="auto", harm=kill_the_driver(cut, "shard-*.json", at=1))
    before = finished(cut, "shard-*.json")
    jobs.timed(*words("packs-cut"), workers="auto")
    kept = sum(finished(cut).get(path) == inode for path, inode in before.items())
    said = f"ended {gone.code}; {kept} of {len(before)} finished shards are the same file"
    jobs.row("data pack, killed", tree(jobs.folder / "packs-whole"), tree(cut), said)
    jobs.require(bool(before) and kept == len(before), "data pack: what was finished was not packed again")

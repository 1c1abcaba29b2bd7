"""Threads that fill batches: one image after another, taken in the order of the steps, handed on in that order.

How many threads there are changes nothing but the time. At most `ahead` batches are under way or ready at once.
"""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from typing import Any

from holdfast.pipeline.decode import Undecodable

EXIT_WAIT_S = 2.0  # at the end of the process, for an image that is being decoded


class BatchJob:
    """A batch and what is still to be done for it: `draw(i)` for each of its images."""

    def __init__(
        self,
        arrays: dict[str, Any],
        images: int,
        draw: Callable[[int], None],
        place: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        """`place` gets the filled arrays, in the thread that draws the last image: it may start a copy to a device."""
        self.arrays, self.images, self.draw, self.place = arrays, images, draw, place
        self.left = images
        self.undecodable: dict[int, Undecodable] = {}  # by the place in the batch
        self.error: BaseException | None = None


class BatchThreads:
    """`close` may be called at any time, and does not wait."""

    def __init__(self, jobs: Iterator[BatchJob], *, threads: int, ahead: int) -> None:
        self._jobs, self._ahead = jobs, ahead
        self._lock = threading.Lock()
        self._work, self._done = threading.Condition(self._lock), threading.Condition(self._lock)
        self._under_way: deque[BatchJob] = deque()
        self._images: deque[tuple[BatchJob, int]] = deque()
        self._planning = self._planned_all = self._closed = False
        self._error: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._run, name=f"holdfast-images-{number}", daemon=True)
            for number in range(threads)
        ]
        _running.add(self)
        for thread in self._threads:
            thread.start()

    def filled(self) -> Generator[BatchJob, None, None]:
        """The jobs in their order, each when all of it is done. Closing this ends the threads."""
        try:
            while (job := self._next()) is not None:
                yield job
                del job
        finally:
            self.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._images.clear()
            self._under_way.clear()
            self._work.notify_all()
            self._done.notify_all()

    def wait(self, seconds: float) -> None:
        """Until the threads are gone, but no longer."""
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _next(self) -> BatchJob | None:
        with self._lock:
            while True:
                if self._under_way and not self._under_way[0].left:
                    job = self._under_way.popleft()
                    self._work.notify()
                    if job.error is not None:
                        raise job.error
                    return job
                if self._closed or (not self._under_way and (self._planned_all or self._error)):
                    if self._error is not None:
                        raise self._error
                    return None
                self._done.wait()

    # -- in the threads ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._images and not self._may_plan() and not self._closed:
                    self._work.wait()
                if self._closed:
                    return
                job, image = self._images.popleft() if self._images else (None, 0)
                self._planning = self._planning or job is None
            if job is None:
                self._plan()
            else:
                self._draw(job, image)
            del job  # its memory is used again when nobody refers to it

    def _may_plan(self) -> bool:
        return not self._planning and not self._planned_all and len(self._under_way) < self._ahead

    def _plan(self) -> None:
        """One batch more. Only one thread does it at a time, while the others draw."""
        job, error = None, None
        try:
            job = next(self._jobs, None)
        except BaseException as raised:  # for whoever takes the batches
            error = raised
        with self._lock:
            self._planning = False
            self._planned_all = self._planned_all or job is None
            self._error = self._error or error
            if job is not None and not self._closed:
                self._under_way.append(job)
                self._images.extend((job, image) for image in range(job.images))
                self._work.notify_all()
            else:
                self._done.notify_all()

    def _draw(self, job: BatchJob, image: int) -> None:
        try:
            job.draw(image)
        except Undecodable as undecodable:
            job.undecodable[image] = undecodable
        except BaseException as error:
            job.error = error
        with self._lock:
            last = job.left == 1
            job.left -= not last
        if not last:
            return
        if job.place is not None and job.error is None and not job.undecodable:
            try:
                job.arrays = job.place(job.arrays)
            except BaseException as error:
                job.error = error
        with self._lock:
            job.left = 0
            self._done.notify_all()


_running: weakref.WeakSet[BatchThreads] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """A thread that returns from OpenCV while the interpreter is taken down would end the process by a signal."""
    for threads in list(_running):
        threads.close()
    for threads in list(_running):
        threads.wait(EXIT_WAIT_S)

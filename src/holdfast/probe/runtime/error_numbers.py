"""The errno of an exception, also of one whose text alone has it."""

from __future__ import annotations

import errno
import os
import re

_ERRNO_IN_TEXT = re.compile(r"(?:errno = |\[Errno )(\d+)")
#: TensorFlow gives the words only.
_BY_WORDS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.EACCES, errno.ENOENT, errno.EAGAIN)


def errno_of(error: BaseException, message: str) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    match = _ERRNO_IN_TEXT.search(message)
    if match and 0 < int(match[1]) < 200:
        return int(match[1])
    return next((number for number in _BY_WORDS if os.strerror(number) in message), None)

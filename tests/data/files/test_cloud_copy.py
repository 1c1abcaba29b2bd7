"""What an error of a bucket is called depends on its status and type, never on digits or words of an address."""

from __future__ import annotations

import pytest

from holdfast.data.files.cloud_copy import bucket_error

retry = pytest.importorskip("gcsfs.retry")


def answered(status: int, address: str, content: bytes = b"") -> BaseException:
    """The error that gcsfs raises for such an answer."""
    try:
        retry.validate_response(status, content, address)
    except BaseException as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("address", ["http://127.0.0.1:33401/b/runs/o", "b/forbidden-401/o", "b/runs/o"])
@pytest.mark.parametrize(
    ("status", "slug"),
    [
        (401, "credentials-refused"),
        (403, "permission-denied"),
        (404, "path-missing"),
        (503, "file"),
    ],
)
def test_the_status_decides(address: str, status: int, slug: str) -> None:
    assert bucket_error(answered(status, address), "gs://runs/a").slug == slug


def test_the_words_of_an_answer_decide_where_they_are_the_answer() -> None:
    expired = b'{"error": {"code": 400, "message": "Invalid Credentials: token has expired"}}'
    assert bucket_error(answered(400, "b/runs/o", expired), "gs://runs/a").slug == "credentials-refused"
    assert bucket_error(PermissionError("Access Denied"), "s3://runs/a").slug == "permission-denied"

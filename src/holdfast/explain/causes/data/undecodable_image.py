"""An image file cannot be decoded."""

from holdfast.explain.readings.error import ErrorText, file_named, is_there, user_line
from holdfast.explain.readings.files import IMAGES, damaged_file, damaged_files
from holdfast.explain.rule import Evidence, Fact, Finding, Remedy, Strength, Title, cause

_NOT_DECODED = ErrorText(
    r"Unknown image file format|jpeg::Uncompress failed|Invalid PNG|PNG.*(invalid|corrupt)|Input is empty\.|"
    r"image is empty|"
    r"(DecodeJpeg|DecodePng|DecodeImage|DecodeBmp|DecodeGif|decode_(jpeg|png|image)).*([Ii]nvalid|[Ff]ailed|"
    r"[Uu]nknown|empty|Expected)|"
    r"UnidentifiedImageError|cannot identify image file|image file is truncated|broken (PNG|data stream)|"
    r"not a JPEG|"
    r"Invalid (JPEG|image) data|Trying to decode .* format using a wrong op"
)


#: OpenCV reads a file that is damaged, or not there, as nothing, and fails where that is used.
_NOTHING_READ = ErrorText(r"Assertion failed\) !_?(?:src|img|ssize)\.empty\(\)")


@cause("undecodable-image", specialises=("script-error",))
def undecodable_image(evidence: Evidence) -> Finding | None:
    error, quote = evidence.error, _NOT_DECODED.match(evidence)
    if error is None:
        return None
    paths = [path for path in error.paths if file_named(path, IMAGES)]  # in the frames of the exception
    if quote is None:
        return _read_as_nothing(evidence, paths)
    named_in = [*paths[-1:], file_named(quote.text, IMAGES), file_named(error.text, IMAGES)]
    file = damaged_file(evidence) or next(filter(None, named_in), "")
    named = Fact("file.named" if file else "file.unnamed", {"file": file} if file else {}, error.source)
    replace = Remedy("image.replace", {"file": file}) if file else Remedy("image.find", safety="automatic")
    return Finding(
        Strength.ESTABLISHED,
        Title("undecodable-image", {"file": file}),
        because=[quote.fact, *user_line(evidence), *damaged_files(evidence), named],
        remedies=[replace, Remedy("image.leave-out")],
    )


def _read_as_nothing(evidence: Evidence, paths: list[str]) -> Finding | None:
    """An image file that is there, in the frames of an error of OpenCV about an image without pixels."""
    quote = _NOTHING_READ.match(evidence)
    if quote is None or not paths or not is_there(evidence, paths[0]):
        return None
    values = {"file": paths[0]}
    because = [*quote.facts, *damaged_files(evidence), Fact("file.named", values, quote.source)]
    remedies = [Remedy("image.replace", values), Remedy("image.leave-out")]
    return Finding(Strength.SUPPORTED, Title("undecodable-image", values), because, remedies)

"""An image file cannot be decoded."""

from holdfast.explain.readings.error import ErrorText, file_named, user_line
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


@cause("undecodable-image", specialises=("script-error",))
def undecodable_image(evidence: Evidence) -> Finding | None:
    error, quote = evidence.error, _NOT_DECODED.match(evidence)
    if quote is None or error is None:
        return None
    paths = [path for path in error.paths if file_named(path, IMAGES)]  # in the frames of the exception
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

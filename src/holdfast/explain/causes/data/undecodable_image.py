"""An image file cannot be decoded."""

from __future__ import annotations

from holdfast.explain.causes.declare import Group, cause
from holdfast.explain.evidence import Evidence
from holdfast.explain.readings.error import file_named
from holdfast.explain.unconverted import Fact, Finding, Remedy, Strength, matched, users_line
from holdfast.journal import events as ev


@cause("undecodable-image", Group.DATA, specialises=("script-error",))
def undecodable_image(evidence: Evidence) -> Finding | None:
    error = evidence.error
    said = matched(
        evidence,
        r"Unknown image file format|jpeg::Uncompress failed|Invalid PNG|PNG.*(invalid|corrupt)|Input is empty\.|"
        r"image is empty|"
        r"(DecodeJpeg|DecodePng|DecodeImage|DecodeBmp|DecodeGif|decode_(jpeg|png|image)).*([Ii]nvalid|[Ff]ailed|"
        r"[Uu]nknown|empty|Expected)|"
        r"UnidentifiedImageError|cannot identify image file|image file is truncated|broken (PNG|data stream)|"
        r"not a JPEG|"
        r"Invalid (JPEG|image) data|Trying to decode .* format using a wrong op",
    )
    if said is None or error is None:
        return None
    facts = [said[1], *users_line(evidence)]
    file = _file(evidence, said[1])
    for found in evidence.all(ev.BadFilesFound):
        for bad in found.event.files[:3]:
            facts.append(Fact(f"{bad.get('path')}: {bad.get('what')}", found.source))
    if file:
        facts.append(Fact(f"the file is {file}", error.source))
    else:
        facts.append(Fact("TensorFlow does not say which file it is", error.source))
    title = (
        f"the image {file} cannot be decoded"
        if file
        else "an image cannot be decoded; TensorFlow does not say which"
    )
    return Finding(
        "undecodable-image",
        Strength.ESTABLISHED,
        title,
        tuple(facts),
        (),
        (
            Remedy(
                f"replace or remove {file}"
                if file
                else "find it: `holdfast check DATA` decodes every image and names the bad ones",
                "automatic" if not file else "your-choice",
            ),
            Remedy(
                "leave bad files out where the list is made; ignore_errors() hides them and drops good data too",
                "your-choice",
            ),
        ),
    )


def _file(evidence: Evidence, said: Fact) -> str:
    pictures = r"jpe?g|png|bmp|gif|webp|tiff?"
    for found in reversed(evidence.all(ev.BadFilesFound)):
        for bad in found.event.files[:1]:
            return str(bad.get("path"))
    named = [
        path
        for path in (evidence.error.paths if evidence.error is not None else ())
        if file_named(path, pictures)
    ]
    return (
        named[-1] if named else file_named(said.fact, pictures) or file_named(evidence.error_text, pictures)
    )

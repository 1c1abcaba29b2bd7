"""The image resizer of a pipeline.config: the input's size, and how images are brought to it."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.weights_import.object_detection_api.config_sections import Section

_METHOD = "images are resized bilinearly here"


@dataclass(frozen=True, slots=True)
class ImageSize:
    """`rule` is "stretch" or "letterbox"."""

    height: int
    width: int
    rule: str

    @property
    def side(self) -> int:
        """The recipe has square inputs."""
        return max(self.height, self.width)


def image_size(resizer: Section) -> ImageSize:
    fixed, kept = resizer.section("fixed_shape_resizer"), resizer.section("keep_aspect_ratio_resizer")
    if resizer.has("fixed_shape_resizer"):
        _odd_ways(fixed)
        height, width = fixed.whole("height", 300), fixed.whole("width", 300)
        if height != width:
            reason = "a recipe has square inputs: it gets the longer side, the model file keeps both"
            fixed.dropped("height" if height < width else "width", reason)
        return ImageSize(height, width, "stretch")
    if resizer.has("keep_aspect_ratio_resizer"):
        _odd_ways(kept)
        low, high = kept.whole("min_dimension", 600), kept.whole("max_dimension", 1024)
        if low != high:
            kept.dropped(
                "min_dimension",
                f"images fill a square of {high} here, of which the API fills {low} where it can",
            )
        if not kept.flag("pad_to_max_dimension", False):
            kept.dropped("max_dimension", "inputs have a fixed shape here: images are padded to a square")
        return ImageSize(high, high, "letterbox")
    for one in resizer.leaves():
        resizer.dropped(one.name, "inputs have a fixed shape here: a square of 640")
    return ImageSize(640, 640, "letterbox")


def _odd_ways(section: Section) -> None:
    for name in ("resize_method", "convert_to_grayscale", "per_channel_pad_value"):
        section.dropped(
            name, _METHOD if name == "resize_method" else "images have three channels and grey borders here"
        )

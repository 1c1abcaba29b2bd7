"""The 80 classes of COCO at their 91 numbers, as in torchvision's files: 0 is the background, some are unused."""

from __future__ import annotations

_NAMES = {
    1: "person bicycle car motorcycle airplane bus train truck boat", 10: "traffic-light fire-hydrant",
    13: "stop-sign parking-meter bench bird cat dog horse sheep cow elephant bear zebra giraffe",
    27: "backpack umbrella", 31: "handbag tie suitcase frisbee skis snowboard sports-ball kite baseball-bat "
    "baseball-glove skateboard surfboard tennis-racket bottle", 46: "wine-glass cup fork knife spoon bowl banana apple "
    "sandwich orange broccoli carrot hot-dog pizza donut cake chair couch potted-plant bed", 67: "dining-table",
    70: "toilet", 72: "tv laptop mouse remote keyboard cell-phone microwave oven toaster sink refrigerator",
    84: "book clock vase scissors teddy-bear hair-drier toothbrush",
}  # fmt: skip
COUNT = 91


def coco_names() -> tuple[str, ...]:
    """By number, from 0 on."""
    names = [f"unused {number}" for number in range(COUNT)]
    names[0] = "background"
    for first, together in _NAMES.items():
        for place, name in enumerate(together.split()):
            names[first + place] = name.replace("-", " ")
    return tuple(names)

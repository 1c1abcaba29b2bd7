"""What can be wrong with the classes of a dataset: their names, numbers, and where they have no box."""

from __future__ import annotations

from holdfast.data.finding_kind import REPAIR, FindingKind

LABEL_KINDS: dict[str, FindingKind] = {
    "unknown-class": FindingKind(
        "error",
        "boxes have a class that is not declared",
        "add the class to the label map, data.yaml or recipe, or correct the boxes",
    ),
    "class-id-off-by-one": FindingKind(
        "error",
        "class numbers are off by one",
        "count from 0 in YOLO and from 1 in a label map, and write the annotations again",
    ),
    "class-id-disagrees": FindingKind(
        "error",
        "class numbers and class texts say different things",
        "use the label map that the records were written with",
    ),
    "class-count-disagrees": FindingKind(
        "warning",
        "the number of classes and the list of names differ",
        "correct `nc` or `names` in the data.yaml; the names are what is used",
    ),
    "class-id-gap": FindingKind(
        "note", "class ids have gaps", "nothing: ids are kept and the model counts its own"
    ),
    "near-duplicate-class-names": FindingKind(
        "warning",
        "class names differ only in case, spaces, punctuation or letters that look alike",
        f"make them one; {REPAIR} with the more frequent spelling",
    ),
    "misspelled-class": FindingKind(
        "warning",
        "rare class names are a slip of the hand from a frequent one",
        "correct the spelling in the annotations, if they mean the same",
    ),
    "misread-text": FindingKind(
        "warning",
        "class names were read in a wrong encoding, and written so",
        "write them again as they were; the program that wrote them has read UTF-8 as Latin-1",
    ),
    "background-boxes": FindingKind(
        "warning",
        "a class that is called background has boxes",
        "leave it out: what is in no box is background; or the list of names is one off",
    ),
    "rare-class": FindingKind(
        "warning", "classes have fewer than 10 boxes", "collect more examples, or leave the class out"
    ),
    "class-order-differs": FindingKind(
        "error",
        "classes have other names in one part of the dataset than in the rest",
        "write the annotations of this part again with the list of classes of the rest",
    ),
    "class-not-in-split": FindingKind(
        "warning",
        "classes are in one split, and not or hardly in another",
        "shuffle the images before they are split, or put some of each class into every split",
    ),
    "class-not-annotated": FindingKind(
        "warning",
        "a class has no box in one part of the images, and seems to be there",
        "annotate the class there too, or leave these images out: it would be trained on as background",
    ),
    "class-absent-from-part": FindingKind(
        "note",
        "a class that most images have is absent from one part of them",
        "look whether it was annotated there; nothing, if there is none to be seen",
    ),
    "unlearned-class": FindingKind(
        "warning",
        "classes have boxes for validation and none for training: no model can find them",
        "move some of these images to the training data, or leave the class out of both",
    ),
    "unused-class": FindingKind("note", "declared classes have no box", "nothing, or leave the class out"),
    "class-imbalance": FindingKind(
        "note",
        "one class has more than 10 times the boxes of another",
        "judge by the metric of each class; weigh or sample the rare ones more",
    ),
    "image-id-off-by-one": FindingKind(
        "error",
        "annotations name the image beside their own: image ids are off by one",
        "count images and image_id from the same number, and write the annotations again",
    ),
    "duplicate-id": FindingKind("error", "ids occur twice", "give every image and class an id of its own"),
}

"""What can be wrong with a dataset: one slug a finding, its severity, what it means and what to do.

An error would stop or spoil a run; a warning may; a note is worth knowing.
"""

from __future__ import annotations

from holdfast.data.finding_kind import REPAIR, FindingKind
from holdfast.data.label_finding_kinds import LABEL_KINDS
from holdfast.data.recipe_kinds import RECIPE_KINDS

KINDS: dict[str, FindingKind] = {
    # -- images
    "rounded-name": FindingKind(
        "error",
        "names of images were rounded to scientific notation, and fit no single image",
        "export the table again with this column as text, from where it came: a spreadsheet dropped the digits",
    ),
    "missing-image": FindingKind(
        "error",
        "annotations name images that are not there",
        f"put the images there, or leave the annotations out: {REPAIR} without them",
    ),
    "unreadable-image": FindingKind(
        "error", "images cannot be decoded", f"copy them again from where they came; {REPAIR} without them"
    ),
    "filled-image": FindingKind(
        "error",
        "boxes lie where the image is one flat colour from side to side, as a decoder fills a file that was cut",
        f"copy them again from where they came; {REPAIR} of the rest after these were taken out",
    ),
    "truncated-image": FindingKind(
        "error", "images are cut short", f"copy them again from where they came; {REPAIR} without them"
    ),
    "decompression-bomb": FindingKind(
        "error",
        "images are too large to decode safely",
        f"shrink them to what training needs; {REPAIR} without them",
    ),
    "wrong-extension": FindingKind(
        "warning",
        "the contents of images are not what their names say",
        f"rename them; {REPAIR} with the right names",
    ),
    "unsupported-mode": FindingKind(
        "note",
        "images are not plain 8-bit RGB",
        f"they are converted on reading; {REPAIR} in RGB for programs that do not",
    ),
    "undecoded-kind": FindingKind(
        "error",
        "images are of a kind that training does not decode",
        f"{REPAIR} with these as PNG; `predict` and `eval` read them as they are",
    ),
    "exif-rotated": FindingKind(
        "warning",
        "images carry an orientation that programs apply or ignore",
        f"{REPAIR} with the images upright and the boxes moved with them",
    ),
    "size-mismatch": FindingKind(
        "warning", "the declared size is not the image's", f"{REPAIR} with the right sizes and boxes"
    ),
    "outsize-image": FindingKind(
        "warning",
        "images are far larger than the rest; they need the peak of memory",
        "shrink them, or expect the peak of memory at these images",
    ),
    "crowded-image": FindingKind(
        "warning",
        "images have far more boxes than the rest",
        "set the number of boxes per image with these in mind",
    ),
    "mixed-image-sizes": FindingKind("note", "images have different sizes", "nothing: training resizes them"),
    "wide-aspect": FindingKind(
        "note",
        "images are more than twice as wide as high, or as high as wide",
        "keep the aspect ratio when resizing, or cut them into parts",
    ),
    "blank-images": FindingKind(
        "error",
        "nothing can be seen in the images: no detector learns from them",
        "write them again: pixels of 0 to 1 were stored as bytes, or these are masks of class numbers",
    ),
    "colour-order-differs": FindingKind(
        "error",
        "red and blue are exchanged in one part of the images",
        "write these images again, with their channels in the order of the others (OpenCV writes and reads BGR)",
    ),
    # -- boxes
    "not-finite-box": FindingKind("error", "boxes hold NaN or infinity", f"{REPAIR} without them"),
    "wrapped-box": FindingKind(
        "error",
        "boxes hold negative numbers that were stored as unsigned ones",
        f"{REPAIR} without them; the program that wrote them subtracted below 0",
    ),
    "inverted-box": FindingKind(
        "error", "boxes have their corners the wrong way round", f"{REPAIR} with the corners in order"
    ),
    "zero-area-box": FindingKind("error", "boxes have no area", f"{REPAIR} without them"),
    "outside-box": FindingKind(
        "error", "boxes reach outside their image", f"{REPAIR} with them cut at the edge"
    ),
    "pixels-as-fractions": FindingKind(
        "error",
        "boxes are in pixels where the format has fractions of the image",
        "divide x by the image's width and y by its height, and write the annotations again",
    ),
    "corners-as-size": FindingKind(
        "error",
        "boxes hold two corners where the format has a corner and a size",
        "write [x, y, width, height] with width = x2 - x1 and height = y2 - y1",
    ),
    "size-as-corners": FindingKind(
        "error",
        "boxes hold a corner and a size where the format has two corners",
        "write x1, y1, x2, y2 with x2 = x + width and y2 = y + height",
    ),
    "centre-as-corners": FindingKind(
        "error",
        "boxes hold a centre and a size where the format has two corners",
        "write x1, y1, x2, y2 with x1 = centre x - width / 2 and x2 = centre x + width / 2, and y so too",
    ),
    "centre-as-corner": FindingKind(
        "error",
        "boxes hold the centre where the format has the top left corner",
        "write x = centre x - width / 2 and y = centre y - height / 2",
    ),
    "corner-as-centre": FindingKind(
        "error",
        "boxes hold the top left corner where the format has the centre",
        "write the centre: add half of the width to x and half of the height to y",
    ),
    "corners-as-centre": FindingKind(
        "error",
        "boxes hold two corners where the format has a centre and a size",
        "write (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1",
    ),
    "axes-exchanged": FindingKind(
        "error",
        "boxes hold y where the format has x, and x where it has y",
        "exchange them, and width and height too, and write the annotations again",
    ),
    "sides-exchanged": FindingKind(
        "error",
        "boxes are fractions of the wrong side of the image",
        "divide x by the image's width and y by its height; NumPy's `shape` has the height first",
    ),
    "fractions-as-pixels": FindingKind(
        "error",
        "boxes are fractions of the image where the format has pixels or percent",
        "multiply x by the image's width and y by its height (for percent by 100), and write the annotations again",
    ),
    "boxes-of-another-size": FindingKind(
        "error",
        "boxes were drawn on images of another size",
        "put the images there that were annotated, or scale the boxes as the images were",
    ),
    "misplaced-boxes": FindingKind(
        "error",
        "boxes lie beside the objects, and on them when all are moved in one way",
        "correct the boxes of these images as said; look with `holdfast data inspect` before and afterwards",
    ),
    "unrelated-boxes": FindingKind(
        "warning",
        "boxes lie on nothing: no more than the boxes of other images would",
        "look with `holdfast data inspect`: the annotations may belong to other images (sorted or numbered otherwise)",
    ),
    "drawn-boxes": FindingKind(
        "error",
        "boxes are drawn into the images",
        "put the images there that were annotated; a model would learn to find the lines",
    ),
    "tiny-box": FindingKind(
        "note",
        "boxes are smaller than 8 pixels",
        "train at a larger input, or on parts of the images; detectors hardly see these",
    ),
    "edge-rounding": FindingKind(
        "note",
        "boxes reach outside by one pixel or less, as rounding does",
        "nothing: they are cut at the edge",
    ),
    "duplicate-box": FindingKind("warning", "boxes occur twice in one image", f"{REPAIR} with one of each"),
    "box-of-two-classes": FindingKind(
        "warning",
        "boxes are there as two classes",
        "keep the class that is right; nothing, if one class is a kind of the other",
    ),
    "near-duplicate-box": FindingKind(
        "warning",
        "many objects have two boxes of one class that nearly agree",
        "keep one of each pair: two people's or two exports' boxes were put together",
    ),
    "complete-image-box": FindingKind(
        "warning",
        "most boxes are as large as their image",
        "export the annotations again, with the box of each mask; what is true of a complete image is no box",
    ),
    "only-crowds": FindingKind(
        "error",
        "all boxes are crowds, which training and evaluation leave out",
        "write iscrowd = 0 (is_crowd, group_of) for every box that is around one object",
    ),
    "uncovered-boxes": FindingKind(
        "warning",
        "no anchor of the detector comes near these boxes",
        'train at a larger input (model.input), or with anchors that fit: model.anchors = "fitted"',
    ),
    **LABEL_KINDS,
    # -- files
    "image-without-boxes": FindingKind(
        "note", "images have no boxes and are trained on as negatives", "nothing, if nothing is in them"
    ),
    "annotation-unfinished": FindingKind(
        "warning",
        "all images of a stretch have no box, and would be trained on as negatives",
        "annotate them, or leave them out; nothing, if there is nothing in them",
    ),
    "images-not-annotated": FindingKind(
        "warning",
        "one group of images has no annotation file at all, and nearly all others have",
        "find their annotations, which a search for *.jpg loses where *.JPG is meant; else annotate them, or leave "
        "them out: they are trained on as negatives; nothing, if there is nothing in them",
    ),
    "outside-dataset": FindingKind(
        "note",
        "images lie outside the dataset folder",
        "nothing, if you know these files; paths and links of a dataset that somebody sent can name any file of yours",
    ),
    "image-without-annotation": FindingKind(
        "warning", "images have no annotation", "annotate them, or take them out of the folder"
    ),
    "annotation-without-image": FindingKind(
        "error", "annotations have no image", "put the images there, or take the annotations out"
    ),
    "unreadable-annotation": FindingKind(
        "error", "annotations cannot be read", f"correct them by hand; {REPAIR} without them"
    ),
    "annotation-not-downloaded": FindingKind(
        "error",
        "annotation files are Git LFS pointers, not the annotations",
        "run `git lfs pull` where the dataset was cloned",
    ),
    "damaged-text": FindingKind(
        "warning",
        "text is not UTF-8, and letters in it are lost",
        "save the file again as UTF-8",
    ),
    "ambiguous-picture": FindingKind(
        "warning",
        "an annotation's name fits several images, and one was taken",
        "name the image with its folder, or give the images different names",
    ),
    "picture-inside-annotation": FindingKind(
        "warning",
        "images are only inside their annotations (labelme's imageData)",
        "nothing here: they are read from there; `holdfast data convert SRC DST --to coco` writes files of them",
    ),
    "images-not-downloaded": FindingKind(
        "note",
        "a table lists images that are not in the folder, and their rows are left out",
        "nothing, if only a part was downloaded on purpose",
    ),
    "task-without-annotation": FindingKind(
        "note",
        "tasks of Label Studio that nobody has annotated are left out",
        "annotate them; submit an empty annotation for an image with nothing in it",
    ),
    "several-annotators": FindingKind(
        "warning",
        "tasks of Label Studio have several annotations, of which one was taken",
        "mark the right one as ground truth; without such a mark the newest counts",
    ),
    "video-without-frames": FindingKind(
        "warning",
        "a video is annotated, and its frames are not here as images",
        "export it from CVAT with `save images`, or write them next to the XML: "
        "ffmpeg -i VIDEO -start_number 0 frame_%06d.png",
    ),
    "shape-without-box": FindingKind(
        "warning",
        "annotations that are no boxes (points, captions, classes alone) are left out",
        "draw boxes around them, if they are to be found; an image with nothing else is not used",
    ),
    "score-column": FindingKind(
        "warning",
        "lines of YOLO have a score, as a detector writes it, and it is left out",
        "nothing, if somebody has looked at these boxes; a model's guesses are no annotations",
    ),
    "corrupt-record": FindingKind(
        "error", "TFRecord shards are damaged", f"write or copy the shard again; {REPAIR} of what can be read"
    ),
    "annotation-sources-disagree": FindingKind(
        "warning",
        "two sets of annotations for the same images differ",
        "keep the right one and delete the other, or give its file instead of the folder",
    ),
    "repeated-annotations": FindingKind(
        "warning",
        "an annotation file lists images that another of the same split lists, and is not read",
        "give its file instead of the folder, if it is the one that is meant; else take it out of the folder",
    ),
    "class-column-unknown": FindingKind(
        "warning",
        "no column of a CSV is known to hold the classes",
        "call the column `class`; if there is only one kind of object, nothing",
    ),
    "percent-by-evidence": FindingKind(
        "warning",
        "a CSV that does not say so is read as percent of the images",
        "name the columns xmin_percent, ymin_percent, xmax_percent, ymax_percent; look with `holdfast data inspect`",
    ),
    "unclear-coordinates": FindingKind(
        "warning",
        "numbers of a CSV may be pixels or percent, and are read as pixels",
        "give it a header: xmin, ymin, xmax, ymax for pixels, xmin_percent and so on for percent",
    ),
    "listed-but-absent": FindingKind(
        "warning",
        "a list of the dataset names images that are not there",
        "put the images there, or take them out of the list",
    ),
    "missing-shard": FindingKind(
        "warning",
        "shards of a numbered set are not there",
        "copy the missing ones, unless a part is meant",
    ),
    "decimal-commas": FindingKind(
        "note",
        "numbers of YOLO have a decimal comma, and are read with it",
        "nothing here; other programs stop at it or read no box",
    ),
    "label-in-another-split": FindingKind(
        "warning",
        "text files of YOLO lie in the folder of another split than their images",
        "move them, or the images: other programs find no boxes for these",
    ),
    "class-lists-disagree": FindingKind(
        "warning",
        "two lists of classes give one number different names",
        "make the lists equal and write the annotations of one of them again: programs that go by the number "
        "take one class for another; look with `holdfast data inspect`",
    ),
    "name-case": FindingKind(
        "note",
        "names of images differ from the files' in upper and lower case",
        "nothing here; programs on Linux do not find these files",
    ),
    "thousands-separators": FindingKind(
        "note",
        "numbers of a CSV have thousands separators, and are read without them",
        "nothing here; other programs read 1,024 as 1.024, as text, or as two columns",
    ),
    "unusual-column-order": FindingKind(
        "note",
        "the columns of a CSV come in an unusual order",
        "nothing here; programs that read by position get the boxes wrong",
    ),
    # -- across the dataset
    "copied-file": FindingKind(
        "warning",
        "all images of one file of the dataset are those of another: its own are missing",
        "copy or write this file again from where it came",
    ),
    "image-listed-twice": FindingKind(
        "warning",
        "the same image is listed twice, each time with other boxes",
        "put the boxes of both into one entry, if they are of different objects; else keep the right ones",
    ),
    "repeated-boxes": FindingKind(
        "warning",
        "consecutive images that look different have exactly the same boxes",
        "annotate all but the first again: a tool copied its boxes to the next images",
    ),
    "mirrored-boxes": FindingKind(
        "error",
        "mirrored copies of images have the boxes of the originals",
        "mirror their boxes too: x1 = width - x2, x2 = width - x1",
    ),
    "shifted-annotations": FindingKind(
        "error",
        "annotations belong to the image beside theirs in the list",
        "find the image that was deleted or added, and give each annotation to its own image",
    ),
    "class-stops": FindingKind(
        "warning",
        "a class has no box from one image on, and the others go on as before",
        "annotate the class there too, or leave these images out; nothing, if there is none to be seen",
    ),
    "duplicate-image": FindingKind("warning", "the same image occurs twice", f"{REPAIR} with one of each"),
    "duplicate-image-different-labels": FindingKind(
        "warning", "the same image occurs twice with different boxes", "keep the right one"
    ),
    "split-overlap": FindingKind(
        "warning",
        "the same images are named for two splits; the first keeps them",
        "give each split images of its own, or evaluation sees training data",
    ),
    "split-leak": FindingKind(
        "error",
        "the same image is in two splits, so evaluation sees training data",
        f"{REPAIR} with them in the evaluation split only",
    ),
    "split-neighbours": FindingKind(
        "warning",
        "neighbouring images of one series, nearly the same, are in two splits",
        "put whole videos or stretches of time into one split; evaluation sees training data otherwise",
    ),
    "split-siblings": FindingKind(
        "warning",
        "versions of one image are in two splits, so evaluation sees training data",
        "split first and augment the training split only; or keep all versions of an image in one split",
    ),
    "no-boxes": FindingKind(
        "error", "there is no usable box at all", "check that the annotations belong to these images"
    ),
    **RECIPE_KINDS,
}

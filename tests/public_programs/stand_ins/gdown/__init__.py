"""Stands in for gdown: an empty archive; what would be in it was made before the script began."""

import zipfile


def download(url=None, output=None, quiet=False, **asked):
    with zipfile.ZipFile(output, "w"):
        return output

"""Imported by the first line of every reduced copy: fixed seeds, no downloads, no windows, and the true counts.

Runs in the child's Python, in the bare run as in the watched one, so that both do the same.
"""

import os
import urllib.request

import keras
import public_counts
import public_datasets
import public_files
import public_tables

keras.utils.set_random_seed(int(os.environ.get("PUBLIC_SEED", "11")))


def _patched(modules, name, value):
    for module in modules:
        if hasattr(module, name):
            setattr(module, name, value)


def _no_plot(*args, **options):
    return None


def _namespaces(path):
    """The public name, Keras' own module, and tf.keras where TensorFlow is loaded anyway."""
    import importlib

    for root in ("keras", "keras.src", "keras.api", "keras._tf_keras.keras"):
        try:
            yield importlib.import_module(root + "." + path)
        except ImportError:
            continue


for name, load in public_datasets.LOADERS.items():
    _patched(_namespaces("datasets." + name), "load_data", load)
_patched(_namespaces("utils"), "get_file", public_files.get_file)
_patched(_namespaces("utils.file_utils"), "get_file", public_files.get_file)
_patched(_namespaces("utils"), "plot_model", _no_plot)
urllib.request.urlretrieve = public_files.empty_archive
if os.environ.get("PUBLIC_TABLES"):
    public_tables.patch_pandas()
public_counts.patch_keras()
public_files.prepare(os.environ.get("PUBLIC_FILES", ""))

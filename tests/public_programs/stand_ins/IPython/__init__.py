"""Stands in for IPython: nothing is displayed, and the script runs outside a notebook."""

version_info = (9, 0, 0)


def get_ipython():
    return None

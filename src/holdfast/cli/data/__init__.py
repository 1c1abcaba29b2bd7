"""The actions of `holdfast data`."""

"""The trainer: always a process of its own, `python -m holdfast.train RUN_DIR`, started by `holdfast train`.

Nothing is imported here: the recipe says which backend Keras is to load, and it is read first.
"""

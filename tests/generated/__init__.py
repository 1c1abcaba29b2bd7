"""A generator of training programs, with a fault or without one, and a score of what `holdfast explain` says of them.

    python -m tests.generated --seed 1000 --count 40 --kind faulty --keep DIR --json result.json

- `bases/` has healthy programs as drafts: Keras (`fit`, a custom `train_step`, GradientTape; three backends), torch
  and JAX loops, files, detectors, and near misses.
- `faults/` has changes of a draft or of the environment, each with the causes that are honest answers.
- `style.py` renders a draft the way one of many people would have written it.
- `draw.py` chooses all of that from a seed, `runner.py` runs a program, `score.py` marks the answer.

Seeds 1000 to 1999 are for development. Scores that are published come from seeds 9000 and up, each used once:
nobody may look at such a program before its score is written down.
"""

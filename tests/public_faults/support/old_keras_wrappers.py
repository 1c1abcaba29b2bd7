"""`keras.wrappers.scikit_learn` of Keras 2, as far as these programs use it: a classifier and a regressor."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class _Wrapped(BaseEstimator):  # type: ignore[misc]
    def __init__(self, build_fn: Any = None, **settings: Any) -> None:
        self.build_fn = build_fn
        self.settings = settings

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"build_fn": self.build_fn, **self.settings}

    def set_params(self, **settings: Any) -> _Wrapped:
        self.build_fn = settings.pop("build_fn", self.build_fn)
        self.settings.update(settings)
        return self

    def fit(self, x: Any, y: Any, **more: Any) -> Any:
        wanted = inspect.signature(self.build_fn).parameters
        self.model = self.build_fn(**{key: value for key, value in self.settings.items() if key in wanted})
        settings = {_NEW.get(key, key): value for key, value in {**self.settings, **more}.items()}
        training = {key: value for key, value in settings.items() if key in _TRAINING and key not in wanted}
        self.classes_ = np.arange(np.shape(y)[-1]) if np.ndim(y) > 1 else np.unique(y)
        return self.model.fit(np.asarray(x), np.asarray(y), **training)

    def predict(self, x: Any, **_: Any) -> Any:
        return self._answer(self.model.predict(np.asarray(x), verbose=0))

    def _answer(self, outputs: Any) -> Any:
        return np.squeeze(outputs, axis=-1)


_NEW = {"nb_epoch": "epochs"}
_TRAINING = ("epochs", "batch_size", "verbose", "validation_split", "validation_data", "callbacks", "shuffle")


class KerasRegressor(RegressorMixin, _Wrapped):  # type: ignore[misc]
    """Predicts a number."""


class KerasClassifier(ClassifierMixin, _Wrapped):  # type: ignore[misc]
    """Predicts a class; one-hot labels are allowed, as in Keras 2."""

    def _answer(self, outputs: Any) -> Any:
        return outputs.argmax(-1) if outputs.shape[-1] > 1 else (outputs > 0.5).astype(int)[:, 0]

    def score(self, x: Any, y: Any, **_: Any) -> float:
        labels = np.argmax(y, -1) if np.ndim(y) > 1 else np.asarray(y)
        return float(np.mean(self.predict(x) == labels))

"""A fitted estimator as a JSON document, whole by itself: tree, certificate and settings.

`certree.export.load` reads it. Settings that are not plain data (a reference model, a random generator) are left out;
the tree and the certificate do not depend on them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

FORMAT = "certree.model"
VERSION = 1


def write_document(model: Any, *, indent: int | None = 1) -> str:
    """The JSON text of a fitted estimator; of one that chose its settings, that of the model it chose."""
    model = getattr(model, "best_estimator_", model)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": type(model).__name__,
        "settings": _list_settings(model),
        "readings": [reading.to_dict() for reading in model.columns_],
        "has_feature_names": hasattr(model, "feature_names_in_"),
        "fit_seconds": float(model.fit_seconds_),
        "statistics": _plain(model.statistics_),
        "certificate": _plain(model.certificate_),
        "tree": model.tree_.to_dict(),
    }
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)


def _list_settings(model: Any) -> dict[str, Any]:
    settings = model.get_params(deep=False)
    # A start may be a Tree, and a forbidden test an object; the certificate states both as plain data.
    stated = {name: model.certificate_.constraints.get(name) for name in ("start", "forbidden") if name in settings}
    return {name: _plain(value) for name, value in {**settings, **stated}.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) for key in value) and all(map(_is_plain, value.values()))
    if isinstance(value, (list, tuple, np.ndarray)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, bool, int, float, np.generic))


def _plain(value: Any) -> Any:
    """Numpy's numbers as Python's, and what JSON has no word for (infinity, NaN) as null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Models as JSON and back: what `load` reads predicts what was exported, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from certree.certificate import AMOUNT, TEXT, Certificate, Form, find_flaws, is_whole, quote
from certree.document import FORMAT, VERSION, write_document
from certree.estimators import SparseTreeClassifier, TreeEstimator
from certree.policy import PolicyTree
from certree.reading import restore_readings
from certree.tree import FORMAT as TREE_FORMAT
from certree.tree import Tree
from certree.writing import replace_file


def export_json(model: Any, path: str | Path | None = None, *, indent: int | None = 1) -> str:
    """The model as JSON text, whole by itself: tree, certificate and settings. `load` reads it.

    A bare Tree is written as such, and `load` then gives a Tree. Settings that are not plain data (a reference model,
    a random generator) are left out; the tree and the certificate do not depend on them.

    Parameters
    ----------
    model : fitted estimator or Tree
        What to write. An estimator is written with its certificate.
    path : path or None, default=None
        Also write the text to this file, as a whole or not at all. A file of that name is replaced.
    indent : int or None, default=1
        Spaces per level; None writes one line.

    Returns
    -------
    str
        The JSON text, also where it was written to a file.

    Raises
    ------
    OSError
        If the file cannot be written; a file that was there before is then unchanged.
    TypeError
        If the model is neither a fitted estimator nor a tree.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, export_json, load
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> load(export_json(model)).predict([[2.0]]).tolist()
    ['yes']
    """
    if isinstance(model, Tree):
        text = json.dumps(model.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
    elif isinstance(model, TreeEstimator):
        check_is_fitted(model, "tree_")
        text = write_document(model, indent=indent)
    else:
        raise TypeError(f"export_json takes a fitted estimator or a Tree, not a {type(model).__name__}")
    if path is not None:
        replace_file(Path(path), text.encode("utf-8"))
    return text


def load(source: str | Path) -> Any:
    """What `export_json` wrote: a fitted estimator, or a Tree where a Tree was exported.

    Anything else is one ValueError that says what is wrong with it, so that a file from a stranger can be tried. What
    it claims is another matter: `certree.certify.check` compares it with a table.

    Parameters
    ----------
    source : path of a JSON file, or the JSON text itself
        What `export_json`, `model.save` or `certree fit` wrote.

    Returns
    -------
    SparseTreeClassifier, PolicyTree or Tree

    Raises
    ------
    ValueError
        If the text is not a model of certree, or not a valid one; the message says what is wrong.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from certree import SparseTreeClassifier, export_json, load
    >>> model = SparseTreeClassifier(1, 0.01).fit([[1.0], [2.0]], ["no", "yes"])
    >>> load(export_json(model)).status_
    'optimal'
    """
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    try:
        text = source if is_text else Path(source).read_text(encoding="utf-8")
        document = json.loads(str(text), parse_constant=_refuse_constant)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        reason = f"{'the text' if is_text else source} is not JSON"
        is_other = not is_text and Path(source).suffix.lower() != ".json"
        more = "; name a file that model.save, fit --out or policy --out has written" if is_other else f" ({error})"
        raise ValueError(f"not a model: {reason}{more}") from error
    except RecursionError as error:
        raise ValueError(f"not a model: {'the text' if is_text else source} is nested too deeply") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found == TREE_FORMAT:
        return Tree.from_dict(document)
    if found == FORMAT:
        return _restore(document)
    raise ValueError(f"not a model: format is {quote(found)}, neither {FORMAT!r} nor {TREE_FORMAT!r}")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"not a model: JSON has no {name}")


def _restore(document: Mapping[str, Any]) -> SparseTreeClassifier | PolicyTree:
    version, estimator = document.get("version"), document.get("estimator")
    if not is_whole(version) or version != VERSION:
        raise ValueError(
            f"the model is of version {quote(version)}, and this release reads version {VERSION}: get a newer certree"
        )
    makers: dict[Any, Any] = {maker.__name__: maker for maker in (SparseTreeClassifier, PolicyTree)}
    if estimator is not None and not (isinstance(estimator, str) and estimator in makers):
        raise ValueError(f"a model of an unknown estimator, {quote(estimator)}")
    flaws = [f"{name} is missing" for name in _PARTS if name not in document]
    flaws += [
        f"{name} is {quote(document[name])}, not {form.words}"
        for name, form in _PARTS.items()
        if name in document and not form.accepts(document[name])
    ]
    if flaws:
        raise ValueError(f"not a whole model: {'; '.join(flaws)}")
    tree, certificate = Tree.from_dict(document["tree"]), Certificate(document["certificate"])
    flaws = find_flaws(certificate)
    if flaws:
        raise ValueError(f"not a whole certificate: {'; '.join(flaws)}")
    is_policy = estimator == PolicyTree.__name__
    for name in ("policy",) if is_policy else ("class_weights", "guarantees"):
        if name not in certificate:
            raise ValueError(f"the certificate of a {estimator} states {name}, and this one does not")
    model = makers[estimator]()
    unknown = set(document["settings"]) - set(model.get_params(deep=False))
    if unknown:
        raise ValueError(f"a {estimator} has no setting {quote(min(unknown))}")
    try:
        model.set_params(**document["settings"])._validate_params()
    except (TypeError, ValueError) as error:  # scikit-learn's refusals of a parameter are both
        raise ValueError(f"the settings are not those of a {estimator}: {error}") from error
    if is_policy:
        policy = certificate["policy"]
        model.actions_ = np.array(tree.labels)
        model.value_, model.objective_ = policy["value"], policy["objective"]
        model.upper_bound_, model.gap_ = policy["upper_bound"], policy["gap"]
        if "budget" in certificate:
            model.spend_, model.price_ = certificate["budget"]["spend"], certificate["budget"]["price"]
    else:
        if isinstance(certificate["thresholds"], list) and "thresholds" not in certificate["guarantees"]:
            raise ValueError("the certificate lists cuts, but guarantees.thresholds does not say what they give up")
        if document["settings"].get("max_depth") == "guess" and "depth" not in certificate["guarantees"]:
            raise ValueError("the depth was guessed, but guarantees.depth does not say how")
        if tree.label_weights is None:
            raise ValueError("the tree of a classifier has label_weights, and this one has none")
        model.classes_ = np.array(tree.labels)
        model.loss_, model.objective_ = certificate["loss"], certificate["objective"]
        model.lower_bound_, model.gap_ = certificate["lower_bound"], certificate["gap"]
    model.tree_, model.n_leaves_, model.depth_ = tree, tree.n_leaves, tree.depth
    model.columns_ = restore_readings(document.get("readings"), tree.columns)
    model.n_features_in_ = len(tree.columns)
    if document["has_feature_names"]:
        model.feature_names_in_ = np.array([column.name for column in tree.columns], dtype=object)
    model.status_, model.certificate_ = certificate["status"], certificate
    model.statistics_, model.fit_seconds_ = dict(document["statistics"]), document["fit_seconds"]
    restored: SparseTreeClassifier | PolicyTree = model
    return restored


_MAPPING = Form("a mapping", lambda value: isinstance(value, dict))
_PARTS = {
    "estimator": TEXT,
    "settings": _MAPPING,
    "has_feature_names": Form("true or false", lambda value: isinstance(value, bool)),
    "fit_seconds": AMOUNT,
    "statistics": _MAPPING,
    "certificate": _MAPPING,
    "tree": _MAPPING,
}

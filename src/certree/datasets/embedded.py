"""The data set that comes with the package: the NSW job training experiment. LALONDE.md is its data card."""

from __future__ import annotations

from importlib.resources import as_file, files

from sklearn.utils import Bunch

from certree.datasets.files import read_csv, to_array, to_frame, to_labels

_FEATURES = ("age", "education", "black", "hispanic", "married", "nodegree", "re75")


def load_lalonde(*, as_frame: bool = False) -> Bunch:
    """The NSW experiment (LaLonde; Dehejia and Wahba): 722 men, seven columns known before the programme.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether `data` is a pandas frame and `target` and `treatment` are pandas series.

    Returns
    -------
    Bunch
        `data` (722 × 7), `target` (earnings in 1978, dollars), `treatment` (1 where drawn into the programme),
        `feature_names`, `DESCR` (the data card), and with `as_frame` also `frame` (all nine columns).

    Raises
    ------
    ImportError
        If `as_frame` is True and pandas is not installed.

    Examples
    --------
    >>> from certree.datasets import load_lalonde
    >>> data = load_lalonde()
    >>> data.data.shape, int(data.treatment.sum())
    ((722, 7), 297)
    """
    folder = files("certree.datasets")
    with as_file(folder / "lalonde.csv") as path:
        table = read_csv(path)
    description = (folder / "LALONDE.md").read_text(encoding="utf-8")
    if as_frame:
        frame = to_frame(table)
        return Bunch(
            data=frame[list(_FEATURES)],
            target=frame["re78"],
            treatment=frame["treat"],
            feature_names=list(_FEATURES),
            frame=frame,
            DESCR=description,
        )
    outcome, treatment = table.select(("re78", "treat")).columns
    return Bunch(
        data=to_array(table.select(_FEATURES)),
        target=outcome,
        treatment=to_labels(treatment),
        feature_names=list(_FEATURES),
        DESCR=description,
    )

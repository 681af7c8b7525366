"""Exact trees of tables that lie in parts, over Dask: sums travel, and rows stay where they are.

`DaskSparseTreeClassifier` and `DaskPolicyTree` take dask DataFrames, Series and Arrays. They need the extra
`certree[dask]`; nothing else of the package imports Dask.
"""

from certree.certify import PARTS_CHECKS

try:
    from certree.dask.checking import check_parts
    from certree.dask.estimators import DaskPolicyTree, DaskSparseTreeClassifier
    from certree.dask.spreading import spread
except ModuleNotFoundError as error:  # pragma: no cover
    if error.name not in ("dask", "distributed"):
        raise
    raise ModuleNotFoundError(
        f"certree.dask needs {error.name}: pip install 'certree[dask]'", name=error.name
    ) from error

__all__ = ["DaskPolicyTree", "DaskSparseTreeClassifier", "spread"]

PARTS_CHECKS[:] = [check_parts]

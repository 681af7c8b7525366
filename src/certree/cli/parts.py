"""`certree fit --dask`: a Parquet table that need not fit into memory, on a local cluster or on that of an address."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from certree.cli.columns import print_readings
from certree.cli.inputs import find_remaining, read_settings
from certree.cli.outputs import warnings_on_standard_error
from certree.estimators import SparseTreeClassifier

LOCAL = "local"
THRESHOLDS = 64
"""Per column, where the command line names no number."""

_REFUSED: dict[str, Any] = {
    "method": "direct", "reference": None, "start": None, "drop_missing": False, "numeric": [], "missing": [],
}  # fmt: skip
"""Options that need the table in memory, and what they are where they were not given."""


def add_dask(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dask", nargs="?", const=LOCAL, metavar="ADDRESS",
        help="fit Parquet files (or a folder of them) larger than memory: on a local cluster of --jobs processes, or "
        f"on the one at this address; columns have at most {THRESHOLDS} thresholds unless --thresholds says otherwise",
    )  # fmt: skip


def fit_in_parts(options: argparse.Namespace) -> SparseTreeClassifier:
    """The model of a table in parts, as one for tables in memory."""
    for name, default in _REFUSED.items():
        if (getattr(options, name, default) or default) != default:
            raise ValueError(f"--{name.replace('_', '-')} needs the table in memory: leave out either it or --dask")
    for name in ("depth", "thresholds"):
        if getattr(options, name) == "guess":
            raise ValueError(f"--{name} guess needs the table in memory: give a number, or leave --dask out")
    path = Path(str(options.data))
    if not (path.is_dir() or path.suffix in (".parquet", ".pq") or "*" in path.name):
        raise ValueError(f"{path}: --dask reads Parquet files, and folders of them")
    try:
        import dask.dataframe as dd
        from distributed import Client, LocalCluster

        from certree.dask import DaskSparseTreeClassifier
    except ModuleNotFoundError as error:
        raise ValueError("--dask needs Dask: pip install 'certree[dask]'") from error
    settings = {name: value for name, value in read_settings(options).items() if name != "start"}
    settings["thresholds"] = THRESHOLDS if options.thresholds == "all" else options.thresholds
    model = DaskSparseTreeClassifier(
        regularization=options.regularization, class_weight=options.class_weight, **settings
    )

    def fit(client: Any) -> SparseTreeClassifier:
        model.set_params(client=client)
        frame = dd.read_parquet(str(path))
        for name in (options.label, options.weight, *options.ignore, *options.categorical):
            if name is not None and name not in frame.columns:
                raise ValueError(f"{path} has no column {name!r}; it has {', '.join(map(str, frame.columns))}")
        names = find_remaining(frame.columns, {options.label, options.weight, *options.ignore}, path)
        weight = None if options.weight is None else frame[options.weight]
        with warnings_on_standard_error():
            model.fit(frame[names], frame[options.label], weight)
        print_readings(options, model.columns_, model.certificate_.sizes["rows"])
        return model.to_local()

    if options.dask != LOCAL:
        with Client(options.dask) as client:
            return fit(client)
    n_workers = effective_n_jobs(options.jobs)
    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        return fit(client)

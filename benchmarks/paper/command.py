"""What `python -m benchmarks --suite paper` does: measures what is missing, then draws and writes what is there."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper.ledger import key_of, read_rows
from benchmarks.paper.page import write_page
from benchmarks.paper.plan import read_plan
from benchmarks.paper.runner import run_plan

ROOT = Path(__file__).resolve().parents[2]


def carry_out(name: str, results: Path, *, is_drawn_only: bool = False) -> Path:
    """Runs a plan. The page of the published one belongs to the documentation, that of another stands by its rows."""
    plan = read_plan(name)
    is_published = plan.name == "published"
    path = results / ("paper.csv" if is_published else f"paper-{plan.name}.csv")
    if not is_drawn_only:
        run_plan(plan, path)
    keys = {cell.key for cell in plan.cells}
    rows = [row for row in read_rows(path) if key_of(row) in keys]
    again = read_rows(path.with_name(f"{path.stem}-alone.csv"))
    is_ours = is_published and results.resolve() == ROOT / "benchmarks" / "results"
    page = ROOT / "docs" / "paper.md" if is_ours else path.with_suffix(".md")
    write_page(plan, rows, page, again)
    print(f"{len(rows)} of {len(plan.cells)} cells; {page}")
    return page

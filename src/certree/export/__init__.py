"""A fitted tree in other forms: text, DOT, LaTeX, SQL, JSON and back, a scikit-learn tree.

This room promises that what `load` reads predicts what was exported, and that names and categories of any characters
are escaped for their form.

Everything here takes a fitted estimator, a `Solution` or a bare `Tree`.
"""

from certree.export.models import export_json, load
from certree.export.scikit import to_sklearn
from certree.export.sql import export_sql
from certree.export.text import export_dot, export_latex, export_text

__all__ = ["export_dot", "export_json", "export_latex", "export_sql", "export_text", "load", "to_sklearn"]

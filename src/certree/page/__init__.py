"""The report: one self-contained HTML page about a fitted tree, for people who decide.

This room only reads what other rooms find and writes it down. The page asks nothing of the network, and holds
aggregates, never rows.
"""

from certree.page.writer import report

__all__ = ["report"]

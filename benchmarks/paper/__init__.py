"""The paper's whole study, beside today's packages.

    python -m benchmarks --suite paper                      # runs what is missing, then draws the figures and the page
    python -m benchmarks --suite paper --plan quick         # minutes, on embedded and generated tables

The rooms: `plan` (which cells, read from TOML), `sets` (the data sets, their weights and splits), `prepare` (what the
cells of one split share), `cell` (one fit, judged), `runner` (each cell in a process of its own, with limits), `ledger`
(the CSV file that survives a kill), `look` (rows, means and verdicts), `claims` and `speed` (the rows beside what the
paper says), `measured` (how the rows came about), `figures` and `page` (how it is shown).
"""

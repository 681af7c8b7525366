"""Benchmarks: certree beside its peers, in the same run, on the same tables, with the objectives compared.

    python -m benchmarks --suite raw        # or hard, continuous, binary, fit, weights, threads, limits, all

The rooms: `tables` (what is fitted), `adapters` (one file per library, all functions of one signature), `worker` (a
fresh process that fits and reports), `measure` (starts workers, interleaves contenders, remembers slow peers), `suites`
(which cells, which targets), `report` (judges and writes results/), `record` (the file of figures), `machine` (what the
figures were taken on), `paper` (the paper's whole study).
"""

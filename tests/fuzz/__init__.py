"""Whole problems at random through the public Python API, against an enumeration that shares no code with the engine.

    python -m tests.fuzz --minutes 5                          every family in turn, on two processes
    python -m tests.fuzz --family budget --seed 17 --cases 1  one case again

A case is drawn from its family and seed alone. A failure names both, and prints the problem after everything that the
failure does not need was taken away.
"""

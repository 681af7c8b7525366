"""The machine and the versions behind a figure: what a reader needs to judge it, and nothing that names the machine."""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

INSTRUCTIONS = (
    "sse4_2", "popcnt", "avx", "avx2", "bmi2", "fma",
    "avx512f", "avx512bw", "avx512_vnni", "avx512_vpopcntdq",
    "asimd", "sve",
)  # fmt: skip
PACKAGES = ("certree", "pystreed", "pycontree", "licketysplit", "imodels", "numba", "econml", "scikit-learn", "numpy")


@lru_cache(maxsize=1)
def describe() -> dict[str, Any]:
    processor, flags = platform.processor() or platform.machine(), set[str]()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        first = information.read_text().split("\n\n")[0].splitlines()
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first)}
        processor = fields.get("model name", processor)
        if "cpu family" in fields:
            processor += f" (family {fields['cpu family']}, model {fields.get('model', '?')})"
        flags = set(fields.get("flags", fields.get("Features", "")).split())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": processor,
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory_gigabytes": round(memory),
        "instructions": [name for name in INSTRUCTIONS if name in flags],
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {name: version for name in PACKAGES if (version := _version(name))},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None

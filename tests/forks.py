"""Commands as processes of their own, without the seconds that each would spend on imports.

A mother process imports the package once and is forked for each command. The child has its own standard streams and
is signalled like any other.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOTHER = """
import json, os, signal, sys
import certree.cli.program, certree.policy, certree.page.writer
from certree.cli import main

requests, replies = os.fdopen({requests}), os.fdopen({replies}, "w", buffering=1)
for line in requests:
    task = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(child, file=replies)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=replies)
else:
    sys.exit()
os.chdir(task["folder"])
os.dup2(os.open(task["stdin"], os.O_RDONLY), 0)
os.dup2(os.open(task["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
if task["stdout"] == "closed":
    os.close(1)
    sys.stdout = None
elif task["stdout"] == "broken":
    reader, writer = os.pipe()
    os.close(reader)
    os.dup2(writer, 1)
else:
    os.dup2(os.open(task["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
if sys.stdout is not None:
    sys.stdout = open(1, "w", closefd=False)  # as a new interpreter makes it: of the one here it is known where it is
sys.argv = ["certree", *task["words"]]
try:
    code = main()
except SystemExit as ended:
    code = ended.code
# As an interpreter ends, but for taking its memory to pieces, which is most of the time that a command takes.
try:
    sys.stdout.flush()
except OSError as error:
    code = 120
    print(error, file=sys.stderr)
sys.stderr.flush()
os._exit(code)
"""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


class Mother:
    """Use it as a context."""

    def __enter__(self) -> Mother:
        (mine, hers), (answers, replies) = os.pipe()[::-1], os.pipe()
        script = MOTHER.format(requests=hers, replies=replies)
        environment = os.environ | {"MPLBACKEND": "Agg"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", script], pass_fds=(hers, replies), env=environment, stdout=subprocess.DEVNULL
        )
        os.close(hers)
        os.close(replies)
        self.requests, self.replies = os.fdopen(mine, "w", buffering=1), os.fdopen(answers)
        return self

    def __exit__(self, *_: object) -> None:
        self.requests.close()
        self.replies.close()
        self.process.wait(timeout=60)

    def run(self, *words: object, folder: Path, stdin: Any = os.devnull, stdout: str = "", press: str = "") -> Ended:
        """A command to its end. `stdout` is a file, "closed", or "broken": a pipe that nobody reads any more.

        With `press`, Ctrl-C is pressed as soon as it has printed that word to standard error.
        """
        own = folder / ".out" if not stdout else Path(stdout)
        err = folder / ".err"
        err.write_bytes(b"")
        task = {"words": [*map(str, words)], "folder": str(folder), "stdin": str(stdin), "stdout": str(own)}
        print(json.dumps(task | {"stderr": str(err)}), file=self.requests)
        child, begun = int(self.replies.readline()), time.perf_counter()
        while press and press.encode() not in err.read_bytes():
            time.sleep(0.01)
            if time.perf_counter() - begun > 60:
                os.kill(child, signal.SIGKILL)
                break
        else:
            if press:
                os.kill(child, signal.SIGINT)
        code = int(self.replies.readline())
        out = "" if stdout else own.read_text(encoding="utf-8")
        return Ended(code, out, err.read_text(encoding="utf-8"))

"""What a command returns: an exit code that a script can trust.

0 done (of a fit or a path: searched to its end), 3 a limit was reached and a valid tree was written, 2 wrong usage or
bad input, 1 failure (of verify: the certificate does not hold), 130 aborted by Ctrl-C before there was a result.
"""

from __future__ import annotations

DONE, FAILED, MISUSED, LIMITED, ABORTED = 0, 1, 2, 3, 130

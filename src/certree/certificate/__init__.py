"""What was proved about a tree: the certificate, its form, and what it says in words.

This room promises that a certificate is put together here and nowhere else, that it cannot be changed, and that
whatever it calls proved, it says among which trees.
"""

from certree.certificate.form import (
    AMOUNT,
    LIMIT_STATUSES,
    SET_FORMAT,
    SET_STATUSES,
    SET_VERSION,
    STATUSES,
    TEXT,
    Form,
    find_flaws,
    find_set_flaws,
    is_number,
    is_whole,
    quote,
)
from certree.certificate.record import Certificate, list_settings, make_certificate

__all__ = [
    "AMOUNT",
    "LIMIT_STATUSES",
    "SET_FORMAT",
    "SET_STATUSES",
    "SET_VERSION",
    "STATUSES",
    "TEXT",
    "Certificate",
    "Form",
    "find_flaws",
    "find_set_flaws",
    "is_number",
    "is_whole",
    "list_settings",
    "make_certificate",
    "quote",
]

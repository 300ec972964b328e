"""Names that Kubernetes can keep."""

from __future__ import annotations

import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def is_label(name: str) -> bool:
    """Whether it is a DNS label, as names of packages have to be."""
    return bool(_LABEL.fullmatch(name))

"""What a machine says, as text that may be shown: it is somebody else's, and goes to terminals and logs.

What is kept true: of control characters only ends of lines and tabs are left, so that no machine moves a
cursor, rewrites what others have said, or sets a title. What is shown as it is stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, cast

_ODD = re.compile(r"[^\n\t\x20-\x7e]")
_SEQUENCE = re.compile(
    r"(\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, the cursor
    r"|(\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(\x07|\x1b\\|\x9c)?"  # titles, with their text
    r"|\x1b[ -/]*[0-~]"
)
"""What a terminal takes for one instruction."""
_LINE = re.compile(r"\r\n?|[\x85\u2028\u2029]")


def plain(text: str) -> str:
    """Without what a terminal would act on."""
    if not _ODD.search(text):
        return text
    lines = _LINE.sub("\n", _SEQUENCE.sub("", text))
    return "".join(one for one in lines if one in "\n\t" or unicodedata.category(one)[0] != "C")


def all_plain(said: object) -> Any:
    """Every text in an answer."""
    if isinstance(said, str):
        return plain(said)
    if isinstance(said, list):
        return [all_plain(one) for one in cast("list[object]", said)]
    if isinstance(said, dict):
        return {plain(key): all_plain(one) for key, one in cast("dict[str, object]", said).items()}
    return said

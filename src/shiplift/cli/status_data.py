"""`shiplift status -o json|yaml`: what the layers tell, for programs. The shape has a version: within one,
fields are added and nothing else changes. The page `docs/reference/status.md` has every field."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from shiplift.cli.output import Format

if TYPE_CHECKING:
    from shiplift.cli.sections import Seen
    from shiplift.view.values import Heard

API_VERSION = "cli.shiplift.dev/v1"
Data = dict[str, Any]


def document(seen: Seen, heard: Heard | None, now: int) -> Data:
    """All that is known at that moment, since 1970."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Status",
        "time": datetime.fromtimestamp(now, UTC).isoformat().replace("+00:00", "Z"),
        "operator": {
            "running": None if heard is None else seen.silent is None,
            "silentSeconds": seen.silent,
            "notActing": heard.not_acting if heard and seen.silent is None else "",
        },
        "layers": {one.layer: one.part.data(one.section) for one in seen.told if one.section is not None},
    }


def text(data: Data, output: Format) -> str:
    import msgspec

    if output is Format.YAML:
        import yaml

        return yaml.safe_dump(msgspec.to_builtins(data), sort_keys=False, allow_unicode=True, width=110)
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"

"""The reference page of the alerts, written from the same values as `shiplift alerts`.

`python -m shiplift.operator.reference > docs/reference/alerts.md` renews it; a test says when that is due.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from shiplift.operator import alerts
from shiplift.operator.layers import faces

_HEAD = """\
<!-- written by `python -m shiplift.operator.reference`; do not edit -->
# Alerts

`shiplift alerts` prints them as a PrometheusRule, `metrics.alerts` of the chart installs them, each of the
layers that run. An alert fires once it has been so for the time that is given. What is critical is never
silenced while the cluster is upgraded ([notify.md](../notify.md)).
"""


def page() -> str:
    """The whole page, as Markdown."""
    parts = [_section("The operator itself", alerts.rules(()))]
    for name, face in faces().items():
        if found := face.alert_part():
            parts.append(_section(f"Layer `{name}`", [one.rule() for one in found]))
    return "\n".join([_HEAD, *parts])


def _section(title: str, rules: Iterable[dict[str, Any]]) -> str:
    head = (
        f"## {title}",
        "",
        "| alert | severity | after | what is wrong | what to do |",
        "|---|---|---|---|---|",
    )
    return "\n".join([*head, *_rows(rules)]) + "\n"


def _rows(rules: Iterable[dict[str, Any]]) -> Iterator[str]:
    for one in rules:
        said = one["annotations"]
        cells = (
            f"`{one['alert']}`",
            one["labels"]["severity"],
            _after(one["for"]),
            said["summary"],
            said["action"],
        )
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _after(wait: str) -> str:
    return "at once" if wait == "0m" else wait


if __name__ == "__main__":
    sys.stdout.write(page())

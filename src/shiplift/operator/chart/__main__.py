"""`python -m shiplift.operator.chart FOLDER` writes into the chart what is made of the layers."""

from __future__ import annotations

import sys
from pathlib import Path

from shiplift.operator.chart.making import files


def main(folder: str) -> None:
    for name, content in files().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if __name__ == "__main__":
    main(*sys.argv[1:])

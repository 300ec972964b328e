"""Which layer is tested by what: each has a folder of its name here, with a module `suite`."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from shiplift.kube.part import LayerPart
from shiplift.operator.layers import LAYERS
from tests.crash.suite import Scenario, Suite

_FOLDERS = {"machines": "pools"}
"""Where it is not the layer's own name: what `machines` is here is bootstrap, which no operator runs."""


def _having(module: str) -> tuple[str, ...]:
    named = (_FOLDERS.get(name, name) for name in LAYERS)
    there = (name for name in named if find_spec(f"tests.crash.{name}") is not None)
    return tuple(name for name in there if find_spec(f"tests.crash.{name}.{module}") is not None)


ALL: tuple[str, ...] = _having("suite")
"""The layers of the product that have a folder here. Others (`toy`) are found by name, and only where they
are named."""
OWN: tuple[str, ...] = _having("own")
"""Those whose runs are their own: what they speak to is no API server, and no proxy stands in between."""
COMMANDS = ("machines",)
"""Likewise; no operator runs them, but a command of the CLI. They run only where they are named."""


def is_own(name: str) -> bool:
    return name in (*OWN, *COMMANDS)


def suite(name: str) -> Suite[Any]:
    """What that layer brings to the harness."""
    module = f"tests.crash.{name}.suite"
    try:
        return importlib.import_module(module).SUITE
    except ModuleNotFoundError as error:
        if error.name and module.startswith(error.name):
            raise LookupError(f"layer {name} has no folder tests/crash/{name} with a module suite") from error
        raise


def lane(name: str) -> Any:
    """Who runs plans of that layer, where it is not an operator that is run; else None."""
    return getattr(importlib.import_module(f"tests.crash.{name}.suite"), "LANE", None)


def own(name: str) -> Any:
    """How a layer of `OWN` is run: `run(arguments)` gives its figures; `refusal()`, where there is one, says
    why this computer cannot."""
    return importlib.import_module(f"tests.crash.{name}.own")


def scenario(layer: str, name: str) -> Scenario:
    for one in suite(layer).scenarios:
        if one.name == name:
            return one
    raise LookupError(f"layer {layer} has no scenario {name!r}")


def run_by(layer: str, one: Scenario) -> tuple[str, ...]:
    """The layers that the operator runs in a scenario of that layer."""
    return one.layers or (layer,)


def part(name: str) -> LayerPart:
    """The layer itself, as an operator takes it in."""
    return LAYERS[name] if runs_beside(name) else suite(name).part


def runs_beside(name: str) -> bool:
    """Whether the layer has no folder here: it runs beside others only, and nothing of it is judged."""
    return name in LAYERS and name not in ALL and name not in _FOLDERS

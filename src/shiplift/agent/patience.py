"""How long is waited after the API server has refused something or has not answered: pure.

The first wait is a second, and each is half as long again as the one before, up to a limit: of a server that
was away for a while most agents hear again within half of that while, and one that refuses for hours is asked
about once a minute. Agents that have failed together do not come back together.
"""

from __future__ import annotations

FIRST, LONGEST = 1.0, 40.0
"""Seconds, before they are spread."""
_GROWTH, _SPREAD = 1.5, 0.5
_MOST_TIMES = 32


def pause(faults: int, chance: float) -> float:
    """Seconds after so many faults in a row; `chance` is from 0 to 1, another for each agent."""
    grown = min(FIRST * _GROWTH ** min(faults - 1, _MOST_TIMES), LONGEST)
    return grown * (1 + _SPREAD * chance)

"""How many examples a property test tries: all in `make test`, a ninth where somebody waits for it."""

from hypothesis import HealthCheck, settings

_WHOLE, _NINTH = 99, 11


def load(*, whole: bool) -> None:
    """The same examples in each run, and no limit of time to one of them; before any test is imported."""
    settings.register_profile(
        "shiplift",
        max_examples=_WHOLE if whole else _NINTH,
        derandomize=True,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("shiplift")


def tries(count: int) -> int:
    """So many examples in the whole run, and their share in a short one."""
    return max(1, count * settings.get_profile("shiplift").max_examples // _WHOLE)

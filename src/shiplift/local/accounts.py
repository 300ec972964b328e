"""ServiceAccounts of local clusters: kubeconfigs of theirs for tests, demos and benchmarks.

Such a file holds the address of the server and the account's token. Nothing of the user who asked for the
token is in it, so that whoever uses it has the rights of the account and no others.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from shiplift.kube import credentials
from shiplift.kube.account import Account, ask_token
from shiplift.local.private import write_private

_DAY = 24 * 3600
"""Local clusters are used for hours, and nobody renews what is in a file."""


def kubeconfig_of(account: Account, like: Path, to: Path, seconds: int = _DAY) -> Path:
    """As `like`, but for the account; the user of `like` has to be able to ask for its token."""
    return with_token(like, to, ask_token(credentials.load(like), account, seconds).token)


def with_token(like: Path, to: Path, token: str) -> Path:
    """As `like`, but whoever uses it proves themselves by that token alone."""
    config = yaml.safe_load(like.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    write_private(to, yaml.safe_dump(config).encode())
    return to

"""The private key of whoever logs in: read once, refused when others could have read it too."""

from __future__ import annotations

import stat
from pathlib import Path

import asyncssh

_MOST_BYTES = 64 * 1024


class KeyFileError(Exception):
    """The key cannot be used; says why, and what would help."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def load(path: Path) -> asyncssh.SSHKey:
    """The key in that file, or `KeyFileError`."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            content = file.read(_MOST_BYTES)
    except OSError as error:
        hint = "name the file of a private key with --ssh-key"
        raise KeyFileError(f"cannot read key {path}: {error.strerror}", hint) from error
    if content.startswith((b"ssh-", b"ecdsa-", b"sk-")):
        raise KeyFileError(f"{path} is the public half of a key", "name the private one, without .pub")
    if mode & 0o077:
        raise KeyFileError(f"key {path} can be read by others: its mode is {mode:04o}", f"chmod 600 {path}")
    try:
        return asyncssh.import_private_key(content)
    except (asyncssh.KeyEncryptionError, asyncssh.KeyImportError) as error:
        if "passphrase" in str(error).lower():
            raise KeyFileError(
                f"key {path} has a passphrase", "name a key without one, made for this"
            ) from error
        raise KeyFileError(f"{path} is no private key: {error}", "ssh-keygen -t ed25519 makes one") from error

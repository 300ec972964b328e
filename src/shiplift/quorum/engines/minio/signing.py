"""AWS Signature Version 4 in headers, as MinIO's admin API and S3 want it.

Everything that is sent is signed, the body too. The secret key is in no message and no log.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from urllib.parse import quote

import msgspec

from shiplift.kube.secrets import Hidden

_ALGORITHM = "AWS4-HMAC-SHA256"
_REGION, _SERVICE, _END = "us-east-1", "s3", "aws4_request"


class Credentials(msgspec.Struct, frozen=True):
    """Of an administrator of the service."""

    access_key: str
    secret_key: Hidden


class Request(msgspec.Struct, frozen=True):
    """What is going to be sent; `path` has no characters that would have to be quoted."""

    method: str
    host: str
    """With its port, as the header says it."""
    path: str
    query: Sequence[tuple[str, str]] = ()
    body: bytes = b""

    @property
    def query_text(self) -> str:
        """Sorted and quoted as the signature wants it, and sent the same."""
        return "&".join(
            sorted(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in self.query)
        )


def headers(request: Request, credentials: Credentials, now: datetime) -> dict[str, str]:
    """All headers to send with the request, `Authorization` among them."""
    signed = {
        "host": request.host,
        "x-amz-content-sha256": hashlib.sha256(request.body).hexdigest(),
        "x-amz-date": now.strftime("%Y%m%dT%H%M%SZ"),
    }
    names = ";".join(sorted(signed))
    scope = f"{now:%Y%m%d}/{_REGION}/{_SERVICE}/{_END}"
    signature = _signature(_to_sign(request, signed, scope), scope, credentials.secret_key)
    said = f"Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**signed, "authorization": f"{_ALGORITHM} {said}"}


def _to_sign(request: Request, signed: Mapping[str, str], scope: str) -> str:
    lines = [f"{name}:{signed[name]}\n" for name in sorted(signed)]
    canonical = "\n".join(
        [
            request.method,
            request.path,
            request.query_text,
            "".join(lines),
            ";".join(sorted(signed)),
            signed["x-amz-content-sha256"],
        ]
    )
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return "\n".join([_ALGORITHM, signed["x-amz-date"], scope, digest])


def _signature(text: str, scope: str, secret: Hidden) -> str:
    key = reduce(_mac, scope.split("/"), b"AWS4" + secret.reveal())
    return _mac(key, text).hex()


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()

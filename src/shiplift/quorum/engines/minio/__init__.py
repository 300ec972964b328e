"""MinIO: its admin API for versions, staging and switching; its health API; S3 for the canary."""

from shiplift.quorum.engines.minio.engine import MinIO
from shiplift.quorum.engines.minio.signing import Credentials

__all__ = ["Credentials", "MinIO"]

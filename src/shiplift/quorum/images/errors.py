"""What can be wrong with an image.

ImageError
├── NotAllowed       our own rules: a host, a size, a form that is not let through
├── BadImage         the registry has something that is no usable image, or no longer the one it was
├── NotFound         the registry does not have it
├── Denied           the registry wants other credentials
└── RegistryAway     the registry could not be asked, or did not answer in full; later it may
"""

from __future__ import annotations


class ImageError(Exception):
    """The image cannot be used; the message names it and what is wrong, and holds no credentials."""


class NotAllowed(ImageError):  # noqa: N818 - says what the image is
    """Our own rules refuse it."""


class BadImage(ImageError):  # noqa: N818 - says what the image is
    """It is not what an image must be."""


class NotFound(ImageError):  # noqa: N818 - says what the image is
    """There is none."""


class Denied(ImageError):  # noqa: N818 - says what became of the question
    """The credentials do not do."""


class RegistryAway(ImageError):  # noqa: N818 - says what became of the question
    """Once more is worth it."""

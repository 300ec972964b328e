"""The build file of the operator's image, and what is made of the same without an engine."""

from __future__ import annotations

import json
import re

from shiplift.local import operator_image
from shiplift.operator import inside

CONTAINERFILE = operator_image.checkout() / "Containerfile"


def words_of(instruction: str) -> list[str]:
    """Of the last one of that name in the build file."""
    text = CONTAINERFILE.read_text().replace("\\\n", " ")
    return re.findall(rf"^{instruction} (.*)$", text, re.MULTILINE)


def test_the_build_file_makes_what_is_made_here() -> None:
    assert json.loads(words_of("ENTRYPOINT")[-1]) == list(operator_image.ENTRYPOINT)
    assert words_of("USER")[-1] == operator_image.USER
    assert dict(one.split("=", 1) for one in words_of("ENV")[-1].split()) == operator_image.ENVIRONMENT
    assert operator_image.USER.split(":")[0] == str(inside.USER_ID)
    installs = [json.loads(one) for one in words_of("RUN") if "requirements/run.txt" in one]
    assert [("--require-hashes" in one, "--only-binary=:all:" in one) for one in installs] == [(True, True)]


def test_the_build_file_takes_its_bases_as_arguments_and_names_both_platforms() -> None:
    text = CONTAINERFILE.read_text()
    assert {one.split("=")[0] for one in words_of("ARG")} == {"BUILD", "BASE"}
    assert words_of("FROM") == ["${BUILD} AS build", "${BASE}"]
    assert "linux/amd64,linux/arm64" in text

# SPDX-License-Identifier: Apache-2.0
"""Files of keys and values, from which `halocline pir build` makes databases."""

from __future__ import annotations

from pathlib import Path

from ...base import limits
from ...base.errors import CorruptData
from ...base.files import check_utf8, parse_json, read_file


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Keys and values: a JSON object of texts, or lines with a tab between key and value."""
    data = read_file(path, "pir build", limits.KEYWORD_SOURCE)
    check_utf8(data, f"pir build: '{path}'")
    if path.suffix == ".json":
        content = parse_json(data, f"pir build: '{path}'")
        if not isinstance(content, dict) or not all(isinstance(each, str) for each in content.values()):
            raise CorruptData(f"pir build: '{path}' is no JSON object whose values are texts")
        return list(content.items())
    pairs = []
    for number, line in enumerate(data.decode().split("\n"), start=1):
        if not line:
            continue
        key, tab, value = line.removesuffix("\r").partition("\t")
        if not tab:
            raise CorruptData(f"pir build: '{path}', line {number}: no tab between key and value")
        pairs.append((key, value))
    return pairs

# SPDX-License-Identifier: Apache-2.0
"""The tables of a result as CSV files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from ...base.files import write_file

Json = dict[str, Any]


def save_tables(content: Json, folder: Path) -> list[Path]:
    """A file for each list of rows of a result, with a line of names; returns their paths.

    Lists in rows are written as JSON.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, rows in content.items():
        if not (isinstance(rows, list) and rows and all(isinstance(each, dict) for each in rows)):
            continue
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n", extrasaction="raise")
        writer.writeheader()
        writer.writerows(
            {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}
            for row in rows
        )
        path = folder / f"{name}.csv"
        write_file(path, text.getvalue().encode())
        written.append(path)
    return written

# SPDX-License-Identifier: Apache-2.0
"""Makes `ntt_family.json` of a results folder from what `halocline_ntt_bench` wrote.

    halocline_ntt_bench --family --out family.lines && halocline_ntt_bench --tune --out tune.lines
    tools/ntt_results.py --commit C --driver D --date YYYY-MM-DD family.lines tune.lines > ntt_family.json

Adds what the bench does not know (commit, driver, date); figures are copied.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SCHEMA = 1
LEFT_OUT = ("kind", "integer_instructions")


def document(lines: list[Json], about: Json) -> Json:
    """One document from the lines of all files; ceilings come from the first card line."""
    cards = [line for line in lines if line["kind"] == "card"]
    ceilings = {key: value for key, value in cards[0].items() if key not in ("kind", "name")}
    made: Json = {"schema": SCHEMA, "suite": "ntt", "command": "halocline_ntt_bench", **about}
    made |= {"device": cards[0]["name"], "ceilings": ceilings}
    for kind, name in (("family", "family"), ("tune", "shapes")):
        rows = [line for line in lines if line["kind"] == kind]
        made[name] = [{k: v for k, v in row.items() if k not in LEFT_OUT} for row in rows]
    return made


def main() -> int:
    """Reads the command line, writes the document to standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("commit", "driver", "date"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    lines = [json.loads(line) for file in given.files for line in file.read_text().splitlines()]
    made = document(lines, {"commit": given.commit, "driver": given.driver, "date": given.date})
    rows = {name: made.pop(name) for name in ("family", "shapes")}
    head = json.dumps(made, indent=2)[:-2]
    body = ",\n".join(
        f'  "{name}": [\n' + ",\n".join(f"    {json.dumps(row)}" for row in values) + "\n  ]"
        for name, values in rows.items()
    )
    sys.stdout.write(f"{head},\n{body}\n}}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Write the JSON Schemas under docs/schemas: `uv run python -m tests.tools.write_schemas`."""

import sys

from ralph_tui.cli.json_schemas import NAMES, schema_text
from tests.tools.house import ROOT

FOLDER = ROOT / "docs" / "schemas"


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        path = FOLDER / f"{name}.schema.json"
        path.write_text(schema_text(name), encoding="utf-8")
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""What is told about settings that cannot be meant: `bad_settings.txt` has files of settings, and below each what ralph says.

`pytest tests/config/test_bad_settings.py --snapshot-update` writes down what is said now.
"""

from itertools import groupby
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain.errors import ConfigError

FILES = Path(__file__).with_name("bad_settings.txt")
ENVIRON = {"WORD": "word", "API_TOKEN": "hunter2-hunter2", "LOOKS": "sk-abcdefghijklmnopqrst"}


def complaint(root: Path, text: str) -> str:
    path = root / ".ralph" / "config.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_settings(root, environ=ENVIRON, home=root / "nobody")
    error = caught.value
    assert error.hint, text
    assert not set("\x1b\n") & set(str(error)), text
    return f"! {error.message}\n!   {error.hint}\n".replace(f"{path.parent}/", "")


def test_each_bad_file_is_explained_as_written_below_it(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    before = FILES.read_text(encoding="utf-8")
    now = text = ""
    for is_said, lines in groupby(before.splitlines(keepends=True), lambda line: line[0] == "!"):
        if not is_said:
            text = "".join(lines)
        now += complaint(tmp_path, text.split("\n\n")[-1].lstrip()) if is_said else text
    if pytestconfig.option.update_snapshots:
        FILES.write_text(now, encoding="utf-8")
    assert now == FILES.read_text(encoding="utf-8")
    said = "".join(line for line in now.splitlines() if line[:1] == "!")
    assert not any(secret in said for secret in ("hunter2", "abcdefgh"))

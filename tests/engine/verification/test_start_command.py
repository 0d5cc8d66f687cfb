"""The command that starts a project is the one that its files name."""

from pathlib import Path

import pytest

from ralph_tui.engine.verification.detection.directory_files import DirectoryFiles
from ralph_tui.engine.verification.detection.project_checks import start_command


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ""),
        ({"README.md": "run me"}, ""),
        ({"Makefile": "test:\n\tx\nrun:\n\tx\n", "main.py": ""}, "make run"),
        ({"justfile": "serve:\n    x\n"}, "just serve"),
        ({"package.json": '{"scripts": {"dev": "vite", "test": "x"}}'}, "npm run dev"),
        ({"package.json": '{"scripts": {"start": "x"}}', "pnpm-lock.yaml": ""}, "pnpm run start"),
        ({"package.json": "{"}, ""),
        ({"package.json": "[]"}, ""),
        ({"Cargo.toml": "", "src/main.rs": ""}, "cargo run"),
        ({"Cargo.toml": "", "src/lib.rs": ""}, ""),
        ({"go.mod": "", "main.go": ""}, "go run ."),
        ({"pyproject.toml": '[project]\nname = "a"\n[project.scripts]\nhabits = "a:b"\n'}, "uv run --isolated habits"),
        ({"pyproject.toml": '[project]\nname = "a"\n', "a/__main__.py": ""}, "python3 -m a"),
        ({"src/a b/__main__.py": ""}, "PYTHONPATH=src python3 -m 'a b'"),
        ({"tests/__main__.py": ""}, ""),
        ({"habits/__main__.py": ""}, "python3 -m habits"),
        ({"app.py": ""}, "python3 app.py"),
    ],
)  # fmt: skip
def test_start_command(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert start_command(DirectoryFiles(tmp_path)) == expected

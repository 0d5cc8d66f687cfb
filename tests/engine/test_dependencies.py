"""What a session added to a project's manifests."""

from pathlib import Path

import pytest

from ralph_tui.engine.phases.iteration import added_dependencies, declared_dependencies

PYPROJECT = """
[project]
name = "x"
dependencies = ["rich", {more}]
[project.optional-dependencies]
web = [{web}]
[dependency-groups]
dev = ["pytest>=8", {dev}]
lint = [{{include-group = "dev"}}, {lint}]
"""

MANIFESTS = {
    "pyproject.toml": (
        PYPROJECT.format(more="", web="", dev="", lint=""),
        PYPROJECT.format(more='"httpx[http2]>=0.27"', web='"aiohttp"', dev='"ruff"', lint='"mypy"'),
        (
            "uv add httpx",
            "uv add --optional web aiohttp",
            "uv add --dev ruff",
            "uv add --group lint mypy",
        ),
    ),
    "package.json": (
        '{"dependencies": {"a": "1"}}',
        '{"dependencies": {"a": "2", "@b/c": "1"}, "devDependencies": {"vitest": "1"}}',
        ("npm install @b/c", "npm install --save-dev vitest"),
    ),
    "Cargo.toml": ("[dependencies]\n", '[dependencies]\nserde = "1"\n', ("cargo add serde",)),
    "go.mod": (
        "module m\n\ngo 1.22\n",
        "module m\n\ngo 1.22\n\nrequire (\n\tgithub.com/x/y v1.2.3\n\tz.org/q v0.1.0 // indirect\n)\n",
        ("go get github.com/x/y",),
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_what_is_declared_now_and_was_not_is_told_as_the_command_that_adds_it(
    tmp_path: Path, name: str
) -> None:
    before, after, commands = MANIFESTS[name]
    (tmp_path / name).write_text(before)
    begun = declared_dependencies(tmp_path)
    (tmp_path / name).write_text(after)
    assert added_dependencies(begun, declared_dependencies(tmp_path)) == commands
    assert added_dependencies(declared_dependencies(tmp_path), begun) == ()


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"dependencies": 5}', "project = 5"])
@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_cannot_be_read_declares_nothing(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert not any(declared_dependencies(tmp_path).values())

"""`ralph config set` through the real commands."""

import os
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.template import template
from ralph_tui.store.project import Project
from tests.cli.processes import inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Project(tmp_path).create()
    return tmp_path


def test_a_setting_is_written_and_holds(root: Path) -> None:
    path = Project(root).layout.config
    path.write_text(template(), encoding="utf-8")
    done = inside("config", "set", "phases.building.max_iterations", "7", cwd=root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"phases.building.max_iterations = 7  ({path})\n"
    assert load_settings(root, environ={}).phases.building.max_iterations == 7
    written = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in written if line not in template().splitlines()] == [
        "phases.building.max_iterations: 7"
    ]
    at = written.index("phases.building.max_iterations: 7")
    assert written[at - 1].startswith("# phases.building.max_iterations: 100"), "in its topic"


def test_a_file_is_made_where_there_is_none(root: Path) -> None:
    assert inside("config", "set", "models.primary", "opus", cwd=root).returncode == 0
    assert Project(root).layout.config.read_text(encoding="utf-8") == 'models.primary: "opus"\n'


@pytest.mark.parametrize("value", ["[uv run pytest, 'a: b']", "uv run pytest"])
def test_a_list_is_a_list(root: Path, value: str) -> None:
    assert inside("config", "set", "phases.building.backpressure", value, cwd=root).returncode == 0
    wanted = ("uv run pytest", "a: b")[: 2 if value.startswith("[") else 1]
    assert load_settings(root, environ={}).phases.building.backpressure == wanted


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("models.primry", "x", "Did you mean 'models.primary'?"),
        ("models", "x", "unknown setting 'models'"),
        ("phases.building.max_iterations", "many", "must be a whole number, not 'many'"),
        ("git.read_only", "false", "git.read_only is no longer a setting"),
        ("context.budget_percent", "76", "must be below"),
        ("phases.building.backpressure", "[a", "is not a list"),
        ("phases.building.backpressure", "[[a]]", "phases.building.backpressure"),
        ("phases.building.backpressure", '{"a":1}', 'must be text, not the JSON {"a":1}'),
        ("build.test_command", '{"a":1}', 'must be text, not the JSON {"a":1}'),
        ("safety.blocked_commands", "5", "takes a command, and '5' is not one"),
        ("notify.webhook", "http://example.org/hook", "is not encrypted and leads to another"),
        ("notify.webhook", "http://example.org/${KEY}", "is not encrypted and leads to another"),
        ("notify.webhook", "example.org", "is not a web address"),
        ("notify.webhook", "https://${HOST/hook", "has no closing brace"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(
    root: Path, key: str, value: str, why: str
) -> None:
    done = inside("config", "set", key, value, cwd=root)
    assert done.returncode == 3
    assert why in done.stderr
    assert "command line" not in done.stderr, "the settings page says the same words"
    assert not Project(root).layout.config.exists()


def test_a_stronger_layer_is_told(root: Path) -> None:
    environ = {**os.environ, "RALPH_PRIMARY_MODEL": "haiku"}
    done = inside("config", "set", "models.primary", "opus", cwd=root, environ=environ)
    assert done.returncode == 0
    assert "RALPH_PRIMARY_MODEL overrides" in done.stderr


def test_a_file_that_is_wrong_is_left_alone(root: Path) -> None:
    path = Project(root).layout.config
    path.write_text("models: [\n", encoding="utf-8")
    done = inside("config", "set", "models.primary", "opus", cwd=root)
    assert done.returncode == 3
    assert path.read_text(encoding="utf-8") == "models: [\n"


def test_a_server_is_set_and_replaced(root: Path) -> None:
    path = Project(root).layout.config
    key = "phases.validation.mcp_servers"
    path.write_text(
        "phases:\n  validation:\n    mcp_servers:\n      old:\n        command: x\n    # mine\n"
        "    max_rounds: 3\n",
        encoding="utf-8",
    )
    done = inside("config", "set", key, "{eyes: {command: npx, args: [a, b]}}", cwd=root)
    assert done.returncode == 0, done.stderr
    found = load_settings(root, environ={}).phases.validation
    assert list(found.mcp_servers) == ["eyes"]
    assert (found.mcp_servers["eyes"].args, found.max_rounds) == (("a", "b"), 3)
    assert "# mine" in path.read_text(encoding="utf-8")
    refused = inside("config", "set", key, "{eyes: {comand: npx}}", cwd=root)
    assert "comand" in refused.stderr


def test_a_reference_to_a_variable_is_kept_and_shown_by_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_MODEL", "a-model-of-mine")
    path = Project(root).layout.config
    path.write_text("models:\n  planning: ${MY_MODEL}  # theirs\n", encoding="utf-8")
    done = inside("config", "set", "models.primary", "${MY_MODEL:-opus}", cwd=root)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"${MY_MODEL:-opus}"' in done.stdout
    kept = path.read_text(encoding="utf-8")
    assert "planning: ${MY_MODEL}  # theirs" in kept
    assert load_settings(root).models.primary == "a-model-of-mine"
    for command in (("config", "show"), ("config", "show", "--json")):
        shown = inside(*command, cwd=root).stdout
        assert "${MY_MODEL}" in shown
        assert "a-model-of-mine" not in shown
    assert "a-model-of-mine" not in kept + done.stdout


def test_a_reference_to_an_unset_variable_is_not_written(root: Path) -> None:
    done = inside("config", "set", "models.primary", "${NOBODY_SETS_THIS}", cwd=root)
    assert done.returncode == 3
    assert "NOBODY_SETS_THIS is not set" in done.stderr
    assert "${NAME:-default}" in done.stderr
    assert not Project(root).layout.config.exists()


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/hook",
        "http://127.0.0.1:8080/hook",
        "http://[::1]/hook",
        "https://example.org/${HOOK_KEY}",
        "http://${HOST}/hook",
        "${HOOK}",
        "",
    ],
)
def test_an_address_that_may_be_posted_to_is_written(root: Path, address: str) -> None:
    """What a variable stands for is estimating…; it is checked when a run starts."""
    done = inside("config", "set", "notify.webhook", address, cwd=root)
    assert done.returncode == 0, done.stderr
    assert load_settings(root, environ={}).notify.webhook == address


def test_a_refused_address_is_not_repeated(root: Path) -> None:
    done = inside("config", "set", "notify.webhook", "http://example.org/s3cr3t-path", cwd=root)
    assert done.returncode == 3
    assert "s3cr3t" not in done.stdout + done.stderr

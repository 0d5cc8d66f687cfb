"""Layers, sources, and what a person is told about a bad setting."""

import os
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.config.load import (
    VARIABLES,
    config_paths,
    effective_entries,
    load_settings,
    short_source,
    source_of,
)
from ralph_tui.config.setting_names import TOPICS, description, known_keys, topics
from ralph_tui.config.settings import Settings
from ralph_tui.config.template import template
from ralph_tui.config.yaml_reader import GONE
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.variable_references import Reference
from ralph_tui.store.layout import Layout
from tests.tools.reference import settings_tables

SEEDS = Path(__file__).with_name("seeds_config.yaml")
ITERATIONS = "phases.building.max_iterations"


def write(place: Path, text: str) -> Path:
    path = place / ".ralph" / "config.yaml"
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def complaint(root: Path, text: str, **kwargs: object) -> ConfigError:
    write(root, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(root, environ={}, home=root / "nobody")
    return caught.value


def iterations(n: int) -> str:
    return f"phases:\n  building:\n    max_iterations: {n}\n"


def test_without_any_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load_settings(tmp_path, environ={}, home=tmp_path / "nobody") == Settings()


def test_each_layer_overrides_the_one_before(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "project"
    seen = []
    environ: dict[str, str] = {}
    overrides: dict[str, object] = {}

    def look() -> None:
        layers = effective_entries(root, overrides, environ, home)
        settings = load_settings(root, overrides=overrides, environ=environ, home=home)
        seen.append((settings.phases.building.max_iterations, source_of(ITERATIONS, layers)))

    look()
    user = write(home, iterations(1))
    look()
    project = write(root, "# a comment\n" + iterations(2))
    look()
    environ["RALPH_MAX_ITERATIONS"] = "3"
    look()
    overrides[ITERATIONS] = 4
    look()
    assert seen == [
        (100, "default"),
        (1, f"{user}:3"),
        (2, f"{project}:4"),
        (3, "RALPH_MAX_ITERATIONS"),
        (4, "command line"),
    ]


def test_layers_merge_key_by_key(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "project"
    write(home, "models: {primary: haiku}\ncontext: {budget_percent: 50}\n")
    write(root, "models:\n  planning: sonnet\n")
    settings = load_settings(root, environ={}, home=home)
    assert (settings.models.primary, settings.models.planning) == ("haiku", "sonnet")
    assert settings.context.budget_percent == 50


def test_a_project_in_the_home_directory_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, iterations(7))
    assert source_of(ITERATIONS, effective_entries(tmp_path, {}, {}, tmp_path)) == f"{path}:3"


def test_the_home_directory_and_the_environment_are_the_persons_own(
    tmp_path: Path, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(isolated, "models: {primary: haiku}\n")
    monkeypatch.setenv("RALPH_PLANNING_MODEL", "sonnet")
    settings = load_settings(tmp_path)
    assert (settings.models.primary, settings.models.planning) == ("haiku", "sonnet")
    assert config_paths(tmp_path)[0] == isolated / ".ralph" / "config.yaml"


def test_the_seeds_example_is_the_default_with_a_name(tmp_path: Path) -> None:
    write(tmp_path, SEEDS.read_text(encoding="utf-8"))
    settings = load_settings(tmp_path, environ={}, home=tmp_path / "nobody")
    assert settings.project.name == "my-awesome-app"
    assert settings.project.python_version == "3.14"
    assert settings.git.allowed_operations == ("status", "log", "diff")
    assert settings.build.test_command == "uv run pytest"
    building = settings.phases.building
    assert building.backpressure == ("uv run pytest", "uv run mypy .", "uv run ruff check .")
    ours = Settings()
    detected = {"backpressure": ours.phases.building.backpressure}
    phases = {"building": building.model_copy(update=detected)}
    rest = {name: getattr(ours, name) for name in ("project", "git", "build")}
    rest["phases"] = settings.phases.model_copy(update=phases)
    assert settings.model_copy(update=rest) == ours


def test_every_key_of_the_seeds_example_is_known() -> None:
    def leaves(tree: dict[str, object], prefix: str = "") -> list[str]:
        found: list[str] = []
        for name, value in tree.items():
            inner = isinstance(value, dict)
            found += leaves(value, f"{prefix}{name}.") if inner else [prefix + name]  # type: ignore[arg-type]  # narrowed by inner
        return found

    assert set(leaves(yaml.safe_load(SEEDS.read_text(encoding="utf-8")))) <= set(
        known_keys()
    ) | set(GONE)


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_reaches_its_setting(variable: str, tmp_path: Path) -> None:
    value = "haiku" if "MODEL" in variable else "70" if "HANDOFF" in variable else "7"
    value = "5000" if "CAPACITY" in variable else value
    settings = load_settings(tmp_path, environ={variable: value}, home=tmp_path)
    found: object = settings
    for part in VARIABLES[variable].split("."):
        found = getattr(found, part)
    assert str(found).removesuffix(".0") == value


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    assert load_settings(tmp_path, environ={"RALPH_MAX_COST_USD": " "}, home=tmp_path) == Settings()


def test_other_programs_variables_are_left_alone(tmp_path: Path) -> None:
    environ = {"RALPH_TASK": "x", "RALPH_WORKDIR": "/tmp"}
    assert load_settings(tmp_path, environ=environ, home=tmp_path) == Settings()


def test_a_slip_in_a_variable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, environ={"RALPH_MAX_ITERATION": "5"}, home=tmp_path)
    assert "RALPH_MAX_ITERATION is not a setting" in caught.value.message
    assert "RALPH_MAX_ITERATIONS?" in caught.value.hint


def test_a_plain_version_keeps_its_zero(tmp_path: Path) -> None:
    write(tmp_path, "project:\n  python_version: 3.10\n")
    settings = load_settings(tmp_path, environ={}, home=tmp_path / "nobody")
    assert settings.project.python_version == "3.10"


@pytest.mark.long
def test_deep_nesting_is_a_bounded_error(tmp_path: Path) -> None:
    for deep in ("[" * 5000, "[" * 100_000, "{a: " * 100_000, "- " * 100_000):
        assert "nested too deeply" in complaint(tmp_path, deep).message


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"project:\n  name: \xff\n")
    with pytest.raises(ConfigError, match="not UTF-8 \\(at byte 17\\)"):
        load_settings(tmp_path, environ={}, home=tmp_path / "nobody")


def test_a_byte_order_mark_and_crlf_are_nothing_special(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.write_bytes(b"\xef\xbb\xbfproject:\r\n  name: x\r\n")
    assert load_settings(tmp_path, environ={}, home=tmp_path / "n").project.name == "x"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    path = write(tmp_path, "")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_settings(tmp_path, environ={}, home=tmp_path / "nobody")


def test_a_directory_is_not_a_settings_file(tmp_path: Path) -> None:
    (tmp_path / ".ralph" / "config.yaml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_settings(tmp_path, environ={}, home=tmp_path / "nobody")


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    assert "larger than" in complaint(tmp_path, "#" * 1_000_001).message


def test_an_unknown_override_is_our_own_or_a_persons_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="command line: unknown setting"):
        load_settings(tmp_path, overrides={"models.primry": "x"}, environ={}, home=tmp_path)


def test_an_override_that_is_none_was_not_given(tmp_path: Path) -> None:
    settings = load_settings(
        tmp_path, overrides={"models.primary": None}, environ={}, home=tmp_path
    )
    assert settings == Settings()


@given(budget=st.integers(-10, 110), handoff=st.integers(-10, 110))
def test_thresholds_load_exactly_when_they_are_in_order(budget: int, handoff: int) -> None:
    overrides = {
        "context.budget_percent": budget,
        "context.handoff_threshold_percent": handoff,
    }
    nowhere = Path("/nonexistent")
    if 0 < budget < handoff < 80:
        found = load_settings(nowhere, overrides=overrides, environ={}, home=nowhere).context
        assert (found.budget_percent, found.handoff_threshold_percent) == (budget, handoff)
    else:
        with pytest.raises(ConfigError, match=r"^command line: "):
            load_settings(nowhere, overrides=overrides, environ={}, home=nowhere)


@given(st.floats())
def test_a_cost_limit_is_finite_and_not_negative(usd: float) -> None:
    nowhere = Path("/nonexistent")
    environ = {"RALPH_MAX_COST_USD": repr(usd)}
    if 0 <= usd < float("inf"):
        found = load_settings(nowhere, environ=environ, home=nowhere)
        total = found.safety.cost_limits.total
        assert total == pytest.approx(min(usd, 1e12), rel=1e-12, abs=1e-6), "to a micro-dollar"
        assert bool(total) == bool(usd), "a small limit does not become none"
    else:
        with pytest.raises(ConfigError, match=r"^RALPH_MAX_COST_USD: safety\.cost_limits\.total"):
            load_settings(nowhere, environ=environ, home=nowhere)


@given(st.text())
def test_any_text_in_the_file_loads_or_is_explained(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / ".ralph").mkdir()
    (root / ".ralph" / "config.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_settings(root, environ={}, home=root / "nobody")
    except ConfigError as error:
        assert error.hint  # noqa: PT017  (both ways out are right)


def test_the_template_changes_nothing_until_it_is_edited(tmp_path: Path) -> None:
    write(tmp_path, template())
    assert load_settings(tmp_path, environ={}, home=tmp_path / "nobody") == Settings()


def test_the_template_with_every_line_switched_on_is_the_defaults(tmp_path: Path) -> None:
    live = [
        line.removeprefix("# ")
        for line in template().splitlines()
        if re.match(r"# [a-z_.]+: ", line)
    ]
    write(tmp_path, "\n".join(live))
    assert load_settings(tmp_path, environ={}, home=tmp_path / "nobody") == Settings()
    assert [line.partition(":")[0] for line in live] == list(known_keys())


def test_every_setting_is_described() -> None:
    assert all(description(key).endswith(".") for key in known_keys())


def test_the_tables_of_settings_are_fresh() -> None:
    page = Path(__file__).parents[2] / "docs/settings.md"
    assert settings_tables() in page.read_text(encoding="utf-8")


def test_each_topic_has_settings_that_stand_together() -> None:
    found = list(topics().values())
    runs = [topic for at, topic in enumerate(found) if not at or found[at - 1] is not topic]
    assert runs == list(TOPICS), "a topic comes once, and every setting has one"
    assert {key for topic in TOPICS for key in topic.keys if "*" not in key} <= set(known_keys())
    assert all(topic.about.endswith(".") for topic in TOPICS)
    text = template()
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {topic.name}: {topic.about}" for topic in TOPICS
    ]


def test_a_source_names_its_layer(isolated: Path, tmp_path: Path) -> None:
    write(isolated, iterations(1))
    write(tmp_path, "models.primary: haiku\n")
    environ = {"RALPH_PLANNING_MODEL": "opus"}
    found = effective_entries(tmp_path, {"git.commit": "task"}, environ)
    keys = (ITERATIONS, "models.primary", "models.planning", "git.commit", "git.branch")
    assert [short_source(source_of(key, found), tmp_path) for key in keys] == [
        "user ~/.ralph/config.yaml:3",
        "project .ralph/config.yaml:1",
        "variable RALPH_PLANNING_MODEL",
        "command line",
        "default",
    ]


SERVERS = """\
phases:
  validation:
    skills: [skills/ui-check]
    mcp_servers:
      browser:   # looks at pages
        command: npx
        args: ["@playwright/mcp", --headless]
        env: {PORT: 8080, LOGIN_TOKEN: "${MY_TOKEN}"}
      far: {url: "https://x.org/mcp", headers: {Authorization: "Bearer ${FAR}"}}
"""


def test_extra_servers_and_skills_of_a_phase(tmp_path: Path) -> None:
    write(tmp_path, SERVERS)
    phases = load_settings(tmp_path, environ={}, home=tmp_path / "n").phases
    browser = phases.validation.mcp_servers["browser"]
    assert (browser.args, browser.env["PORT"]) == (("@playwright/mcp", "--headless"), "8080")
    assert browser.variables == (Reference("MY_TOKEN"),)
    assert phases.validation.mcp_servers["far"].variables == (Reference("FAR"),)
    assert phases.validation.skills == ("skills/ui-check",)
    assert not phases.building.mcp_servers


def test_exceptions_of_the_sandbox_are_given_by_command(tmp_path: Path) -> None:
    text = """\
safety:
  sandbox_exceptions:
    uv run pytest tests/e2e.py:
      ports: [5432]
      sockets: [/var/run/docker.sock]
"""
    write(tmp_path, text)
    settings = load_settings(tmp_path, environ={}, home=tmp_path / "nobody")
    (command,) = settings.safety.sandbox_exceptions
    assert command == "uv run pytest tests/e2e.py"
    opened = settings.safety.sandbox_exceptions[command]
    assert (opened.ports, opened.sockets) == ((5432,), ("/var/run/docker.sock",))
    assert not opened.network


def test_the_folder_of_the_specs_is_the_same_for_every_reader(tmp_path: Path) -> None:
    write(tmp_path, "project:\n  specs: docs/specs\n")
    folder = load_settings(tmp_path, environ={}, home=tmp_path / "nobody").project.specs
    assert Layout(tmp_path).specs == tmp_path / folder == tmp_path / "docs/specs"
    with pytest.raises(ConfigError, match="only in the project's"):
        load_settings(tmp_path / "other", overrides={"project.specs": "x"}, environ={})
    write(tmp_path, "project:\n  specs: ../out\n")
    assert Layout(tmp_path).specs == tmp_path / "specs"

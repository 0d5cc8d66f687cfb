"""The variables of an extra server reach the CLI by its environment, and their values are shown nowhere."""

from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.safety.phase_extensions import (
    check_extras,
    extra_environment,
    extra_values,
    extras_of,
    prepared_servers,
)

SERVERS = """\
phases:
  building:
    mcp_servers:
      eyes:
        command: ${RUNNER:-npx}
        env:
          API_TOKEN: "${MY_TOKEN}"
          MODE: "${MODE:-slow and thorough} of ${MODE:-x}"
          SHELL_TEXT: "$${HOME} stays"
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph/config.yaml").write_text(SERVERS, encoding="utf-8")
    return load_settings(tmp_path, environ={}, home=tmp_path / "nobody")


def given_by_cli(settings: Settings, environ: dict[str, str]) -> dict[str, str]:
    """Return what the server's environment becomes once the CLI has filled in its variables."""
    extras = extras_of(settings, Phase.BUILDING)
    known = extra_environment(extras, environ)
    texts = dict(prepared_servers(extras)["eyes"].env)
    for name in known:
        texts = {key: text.replace(f"${{{name}}}", known[name]) for key, text in texts.items()}
    return texts


def test_each_reference_becomes_what_it_stands_for(settings: Settings) -> None:
    assert extras_of(settings, Phase.BUILDING).mcp_servers["eyes"].command == "npx"
    found = given_by_cli(settings, {"MY_TOKEN": "sesame-7-41"})
    assert found == {
        "API_TOKEN": "sesame-7-41",
        "MODE": "slow and thorough of x",
        "SHELL_TEXT": "${HOME} stays",
    }
    assert given_by_cli(settings, {"MY_TOKEN": "s", "MODE": "fast"})["MODE"] == "fast of fast"
    server = prepared_servers(extras_of(settings, Phase.BUILDING))["eyes"]
    assert "sesame" not in server.model_dump_json()


def test_values_are_hidden_and_defaults_are_not(settings: Settings) -> None:
    assert extra_values(settings, {"MY_TOKEN": "sesame-7-41"}) == ("sesame-7-41",)


def test_a_variable_without_a_default_must_be_set(settings: Settings, tmp_path: Path) -> None:
    check_extras(settings, [Phase.BUILDING], tmp_path, {"MY_TOKEN": "x"})
    with pytest.raises(ConfigError) as caught:
        check_extras(settings, [Phase.BUILDING], tmp_path, {"MODE": "fast"})
    assert str(caught.value).startswith(f"{tmp_path}/.ralph/config.yaml:3: ")
    assert "MY_TOKEN is not set" in str(caught.value)

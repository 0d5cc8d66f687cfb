"""What a session is given: tools where they are of use, and schemas without what only Python checks."""

import json
from pathlib import Path

import pytest

from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.core.ports import SessionSpec
from ralph_tui.engine.prompts.tool_schemas import PHASE_RALPH_TOOLS, tool_specs
from ralph_tui.engine.safety.phase_extensions import check_extras
from ralph_tui.engine.session.spec import spec_maker
from ralph_tui.store.project import Project


def test_the_notebook_tool_is_offered_where_there_is_a_notebook(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()

    def offered() -> bool:
        make = spec_maker(project, Settings, {}, Phase.BUILDING, sandbox=None)
        return "NotebookEdit" in make(1.0).tools

    assert not offered()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "look.ipynb").write_text("{}")
    assert offered()


def test_a_tools_schema_names_only_what_a_model_needs() -> None:
    for spec in tool_specs(*PHASE_RALPH_TOOLS[Phase.BUILDING]):
        text = json.dumps(spec.input_schema)
        assert "maxLength" not in text
        assert "default" not in text
    (add,) = [
        s for s in tool_specs(*PHASE_RALPH_TOOLS[Phase.BUILDING]) if s.name == "ralph_add_task"
    ]
    properties = add.input_schema["properties"]
    assert isinstance(properties, dict)
    assert {"id", "description", "verification_criteria"} <= set(properties)
    assert add.input_schema["required"] == ["id", "description", "verification_criteria"]


def test_a_phase_goes_without_the_tools_that_the_person_takes_from_it(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()

    def made(*without: str) -> SessionSpec:
        building = {"without_tools": without}
        settings = Settings.model_validate({"phases": {"building": building}})
        check_extras(settings, (Phase.BUILDING,), tmp_path, {})
        return spec_maker(project, lambda: settings, {}, Phase.BUILDING, sandbox=None)(1.0)

    whole, less = made(), made("WebSearch", "Bash")
    assert set(whole.tools) - set(less.tools) == {"WebSearch", "Bash"}
    assert [agent.name for agent in less.sub_agents] == ["code_search", "file_analysis"]
    assert made("Task").sub_agents == ()
    with pytest.raises(
        ConfigError, match="without_tools: 'Bassh' is not a built-in tool"
    ) as caught:
        made("Bassh")
    assert "Bash" in caught.value.hint

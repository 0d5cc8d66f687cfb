"""A whole discovery with the real CLI, its question answered and its specs approved on the screen."""

import json
from pathlib import Path

from ralph_tui.agent.agent import ClaudeAgent
from ralph_tui.config.load import load_settings
from ralph_tui.demo.demo_project import demo_environment
from ralph_tui.domain.documents.questions import Answer
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.launch_factory import make_launch
from ralph_tui.store.project import Project
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from tests.harness.model import cli_environment, serving
from tests.harness.projects import make_project
from tests.harness.scenarios import scenario
from tests.scenario.test_phases import REQUEST, discovers
from tests.tui.conftest import Moment, screen_text, until


async def test_a_question_is_answered_and_the_specs_are_approved(tmp_path: Path) -> None:
    root, moment = make_project(tmp_path, []), Moment()
    async with serving(scenario(discovers(asks=True))) as server:
        environment = cli_environment(server, tmp_path)
        services = RunServices(
            make_agent=lambda: ClaudeAgent(environment, log=root / ".ralph" / "cli.log"),
            settings=load_settings(root, environ={}),
            environment=demo_environment(),
        )
        request = RunRequest(text=REQUEST, only=Phase.DISCOVERY, interactive=True)
        app = RalphApp(make_launch(root, services, request), autostart=True, clock=moment)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
            await until(pilot, lambda: "Which language?" in screen_text(app))
            await until(pilot, lambda: "Bonjour" in screen_text(app))
            moment.passes(2)
            await pilot.press("2", "enter")
            await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
            await until(pilot, lambda: "Hello is said in under a second" in screen_text(app))
            moment.passes(2)
            await pilot.press("ctrl+y")
            await until(pilot, lambda: app.bridge.finished is not None)
            assert app.bridge.exit_code == 0
        told = [json.dumps(r.body["messages"]) for r in server.requests if r.script == "discovers"]
    assert any("French" in text and "Which language?" in text for text in told)
    (question,) = Project(root).load().questions.questions
    assert question.answer == Answer(labels=("French",), by="screen")
    assert Controls(root).open_questions() == ()

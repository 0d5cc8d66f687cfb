"""`notify:` on the real CLI: a real command and a webhook on this machine hear how a run ends."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from tests.cli.processes import beside, inside
from tests.engine.test_notifications import hook_of
from tests.harness.model import serving, serving_in_thread
from tests.harness.projects import make_project, task
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play

KEY = "wh-0123456789abcdef"


@pytest.mark.usefixtures("played_cli")
async def test_a_finished_run_is_told_and_the_key_stays_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address is a secret: it is in no event, no file of ralph's and no output."""
    told = tmp_path / "told.json"
    async with hook_of() as hook, serving(scenario(finishes("a"))) as server:
        notify = {
            "commands": [f"cat >{told}", "sh -c 'exit 7'"],
            "webhook": f"http://127.0.0.1:{hook.port}/${{HOOK_KEY}}",
        }
        project = make_project(tmp_path, [task("a")], config={"notify": notify})
        monkeypatch.setenv("HOOK_KEY", KEY)
        run = await play(project, server)
        shown = await beside("config", "show", cwd=project)
        tested = await beside("notify", "--test", cwd=project)
        listed = await beside("notify", cwd=project)
    assert run.end.exit_code == 0
    (failed,) = [e.text for e in run.of(ev.Notice) if "notification" in e.text]
    assert "exit status 7" in failed
    done, test = hook.bodies
    assert (done["event"], done["exit_code"], done["tasks_complete"]) == ("done", 0, 1)
    assert (done["project"], done["run_id"]) == ("project", run.of(ev.LoopStarted)[0].run_id)
    assert test["event"] == "test"
    assert json.loads(told.read_text(encoding="utf-8"))["event"] == "test"
    assert hook.heads[0].startswith(f"POST /{KEY} HTTP/1.1")
    assert tested.returncode == 1
    assert "the webhook at 127.0.0.1: sent" in tested.stdout
    assert "`sh -c 'exit 7'`: failed, exit status 7" in tested.stdout
    assert "${HOOK_KEY}" in shown.stdout
    assert listed.stdout.splitlines()[-1].strip() == "webhook  127.0.0.1"
    written = [path for path in project.rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in f"{run.events}" + shown.stdout + tested.stdout + listed.stdout


def test_a_webhook_without_its_variable_is_found_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    config = {"notify": {"webhook": "https://hooks.example.org/${HOOK_KEY}"}}
    project = make_project(tmp_path, [task("a")], config=config)
    with serving_in_thread(scenario(finishes("a"))) as server:
        environ = ralph_environment(server, tmp_path)
        ran, dry = (
            inside("build", word, cwd=project, environ=environ)
            for word in ("--headless", "--dry-run")
        )
        assert not server.requests
    assert (ran.returncode, dry.returncode) == (3, 3)
    assert "notify.webhook: the environment variable HOOK_KEY is not set." in ran.stderr
    assert ran.stderr.splitlines()[-2:] == dry.stderr.splitlines()[-2:]

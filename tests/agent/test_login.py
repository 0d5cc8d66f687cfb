"""What is wrong with the login or the address is said in seconds, with the variable it comes from."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ralph_tui.agent.address_check import check_address
from ralph_tui.agent.login import check_login, try_login
from ralph_tui.domain.errors import SetupError
from tests.cli.processes import inside
from tests.harness.model import serving_in_thread
from tests.harness.projects import make_project, task
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import finishes, scenario

URL, KEY = "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def with_helper(home: Path, command: str) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"apiKeyHelper": command}))
    return {"CLAUDE_CONFIG_DIR": str(home)}


@pytest.mark.parametrize(
    ("environ", "problem"),
    [
        ({URL: "localhost:4000"}, f"{URL} is no web address: localhost:4000"),
        ({URL: "http://"}, f"{URL} is no web address"),
        ({URL: "http://x:port"}, f"{URL} is no web address"),
        ({URL: f"http://me:pw@127.0.0.1:{free_port()}/v1"}, "Nothing listens at http://127.0.0.1:"),
        ({KEY: "put your key here"}, f"What {KEY} holds is no key"),
        ({}, "no API key and no Claude login"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_named(tmp_path: Path, environ: dict[str, str], problem: str) -> None:
    check = check_address if URL in environ else check_login
    with pytest.raises(SetupError) as caught:
        check({"CLAUDE_CONFIG_DIR": str(tmp_path), **environ})
    assert problem in caught.value.message
    assert "pw" not in caught.value.message
    assert "from your environment" in caught.value.hint or URL not in environ


def test_a_helper_for_keys_is_a_login_if_it_prints_one(tmp_path: Path) -> None:
    check_login(with_helper(tmp_path, "echo key"))
    with pytest.raises(SetupError, match=r"apiKeyHelper.*get-key --now.*no such vault"):
        check_login(with_helper(tmp_path, "get-key --now() { :; }; echo no such vault >&2; exit 3"))


class Gateway(BaseHTTPRequestHandler):
    """An address that knows one key."""

    def do_GET(self) -> None:
        sent = (self.headers["x-api-key"], (self.headers["authorization"] or "")[7:])
        moved = self.headers["x-team"] == "moved"
        self.send_response(302 if moved else 200 if "right" in sent else 401)
        self.send_header("location", "http://127.0.0.1:9/leaks")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_login_is_tried_without_spending(tmp_path: Path) -> None:
    server = HTTPServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=server.serve_forever).start()
    environ = {URL: f"http://127.0.0.1:{server.server_port}", "CLAUDE_CONFIG_DIR": str(tmp_path)}
    try:
        right = with_helper(tmp_path / "right", "echo right")
        assert "apiKeyHelper of Claude's settings, accepted" in try_login({**environ, **right})
        rejects = r"127.0.0.1:\d+ \(ANTHROPIC_BASE_URL\) rejects"
        with pytest.raises(SetupError, match=rejects) as caught:
            try_login({**environ, "ANTHROPIC_AUTH_TOKEN": "wrong"})
        assert "ANTHROPIC_AUTH_TOKEN, which comes from your environment" in caught.value.hint
        moved = {KEY: "right", "ANTHROPIC_CUSTOM_HEADERS": "x-team: moved"}
        assert "does not say whether it accepts it (HTTP 302)" in try_login({**environ, **moved})
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(SetupError, match="Nothing listens"):
        try_login({**environ, KEY: "right"})
    assert "cannot be tried" in try_login({"CLAUDE_CODE_USE_BEDROCK": "1"})


def test_a_rejected_key_ends_a_run_in_seconds(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    fault = "- fault: {kind: status, status: 401, times: forever}\n          say:"
    with serving_in_thread(scenario(finishes("a").replace("- say:", fault, 1))) as server:
        ran = inside(
            "build", "--headless", cwd=project, environ=ralph_environment(server, tmp_path)
        )
        requests = len(server.requests)
    assert ran.returncode == 3, ran
    assert f"Replace the key in {KEY}, which comes from your environment" in ran.stdout + ran.stderr
    assert requests <= 4, "the CLI alone tries eleven times, for three minutes"


@pytest.mark.parametrize(("helper", "status"), [("echo from-the-helper", 0), ("exit 3", 3)])
def test_a_helper_for_keys_is_used(tmp_path: Path, helper: str, status: int) -> None:
    project = make_project(tmp_path, [task("a")])
    with serving_in_thread(scenario(finishes("a"))) as server:
        given = {**with_helper(tmp_path / "claude-config", helper), KEY: ""}
        environ = {**ralph_environment(server, tmp_path), **given}
        ran = inside("build", "--headless", cwd=project, environ=environ)
        keys = {
            r.headers.get("x-api-key", "") + r.headers.get("authorization", "")
            for r in server.requests
        }
    assert ran.returncode == status, ran
    assert keys or status
    assert "apiKeyHelper of Claude's settings fails (`exit 3`)" in ran.stderr or not status

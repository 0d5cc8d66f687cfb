"""What `ralph doctor` finds when something of the guard is not as it must be."""

from pathlib import Path

import pytest

from ralph_tui.cli import checkup
from ralph_tui.cli.finding import Finding
from ralph_tui.cli.readiness import readiness
from ralph_tui.guard.sandbox import why_no_sandbox
from ralph_tui.store.project import Project


def found(name: str, start: Path) -> Finding:
    return next(finding for finding in checkup.examine(start) if finding.name == name)


@pytest.fixture(autouse=True)
def no_cli(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking the CLI for its version takes a second and is tested elsewhere."""
    monkeypatch.setattr(checkup, "cli_version", lambda: "2.1")


def test_the_guard_is_tried(tmp_path: Path) -> None:
    finding = found("guard", tmp_path)
    assert (finding.ok, finding.needed) == (True, True)


def test_a_guard_that_does_not_start_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph_tui.guard.worker.sys.executable", "/bin/false")
    finding = found("guard", tmp_path)
    assert not finding.ok
    assert "every command would be denied" in finding.text
    assert finding.advice


def test_a_shim_that_cannot_be_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found("shims", tmp_path).ok
    shims = tmp_path / "shims"
    (shims / "hooks").mkdir(parents=True)
    for name, mode in (("git", 0o755), ("pip", 0o644), ("common.sh", 0o644)):
        (shims / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (shims / name).chmod(mode)
    monkeypatch.setattr("ralph_tui.guard.environment.SHIMS", shims)
    finding = found("shims", tmp_path)
    assert (finding.ok, finding.text) == (False, "cannot be run: pip")


def test_no_shims_at_all_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph_tui.guard.environment.SHIMS", tmp_path / "nowhere")
    finding = found("shims", tmp_path)
    assert (finding.ok, finding.text) == (False, f"none in {tmp_path / 'nowhere'}")


def test_the_hook_of_git_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("git hook", tmp_path).ok
    monkeypatch.setattr("ralph_tui.guard.environment.SHIMS", tmp_path / "nowhere")
    assert "does not refuse a commit" in found("git hook", tmp_path).text


@pytest.mark.parametrize("there", [(), ("bwrap",)])
def test_a_missing_sandbox_is_told_and_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    monkeypatch.setattr("ralph_tui.guard.sandbox.sys.platform", "linux")
    monkeypatch.setattr(
        "ralph_tui.guard.sandbox.shutil.which",
        lambda name: f"/usr/bin/{name}" if name in (*there, "uv", "git") else None,
    )
    finding = found("sandbox", tmp_path)
    assert (finding.ok, finding.needed) == (False, False)
    missing = [name for name in ("bwrap", "socat") if name not in there]
    assert finding.text.startswith(f"{' and '.join(missing)} {'are' if missing[1:] else 'is'} not")
    assert "apt install bubblewrap socat" in finding.advice


@pytest.mark.parametrize("mode", ["off", "auto", "required"])
def test_a_sandbox_is_tried_and_needed_when_it_is_required(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "config.yaml").write_text(f"safety: {{sandbox: '{mode}'}}\n")
    finding = found("sandbox", tmp_path)
    assert finding.needed is (mode == "required")
    assert finding.ok is (mode != "off" and not why_no_sandbox())
    monkeypatch.setattr("ralph_tui.guard.sandbox.gate_prefix", lambda _: ("env",))
    if finding.ok:
        assert found("sandbox", tmp_path).text == "lets a command write to .git and .ralph"


def test_a_server_without_its_variable_is_found(tmp_path: Path) -> None:
    Project(tmp_path).create()
    Project(tmp_path).layout.config.write_text(
        'phases: {validation: {mcp_servers: {eyes: {command: x, env: {A: "${NO_SUCH_VARIABLE}"}}}}}\n',
        encoding="utf-8",
    )
    config = found("config", tmp_path)
    assert not config.ok
    assert "NO_SUCH_VARIABLE is not set" in config.text


def test_the_screen_says_before_a_run_who_works_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    Project(tmp_path).create()
    first, *wrong = list(readiness(tmp_path))
    assert first.text == "sonnet builds, opus plans; up to 100 iterations, $50"
    assert any(n.level == "error" and n.text.startswith("login: none. Set ANTH") for n in wrong)
    assert any(n.level == "warning" and n.text.startswith("git: not a rep") for n in wrong)
    (tmp_path / ".ralph" / "config.yaml").write_text("modles: {}\n")
    (only,) = readiness(tmp_path)
    assert only.level == "error"
    assert "modles" in only.text

"""What `ralph doctor` finds when something of the guard is not as it must be."""

from pathlib import Path

import pytest

from ralph_tui.cli import checkup
from ralph_tui.cli.checkup import Finding


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


@pytest.mark.parametrize("there", [(), ("bwrap",), ("bwrap", "socat")])
def test_a_sandbox_is_looked_for_and_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    monkeypatch.setattr("ralph_tui.cli.checkup.sys.platform", "linux")
    monkeypatch.setattr(
        "ralph_tui.cli.checkup.shutil.which",
        lambda name: f"/usr/bin/{name}" if name in (*there, "uv", "git") else None,
    )
    finding = checkup._sandbox()
    assert finding.needed is False
    assert finding.ok is (len(there) == 2)
    missing = [name for name in ("bwrap", "socat") if name not in there]
    assert finding.text == (
        f"{' and '.join(missing)} not installed"
        if missing
        else "bwrap and socat installed, not used by this version"
    )

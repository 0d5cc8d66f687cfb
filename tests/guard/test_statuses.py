"""What the exit status of a check says: statuses that are lost, and pipes."""

import subprocess

import pytest

from ralph_tui.guard.shell.statuses import LostStatus, lost_status, with_pipe_failures


@pytest.mark.parametrize(
    ("command", "part", "instead"),
    [
        ("sh check.sh || echo failed", "sh check.sh", "sh check.sh"),
        ("cd api && npm test || true", "npm test", "cd api && npm test"),
        ("npm run build; npm test; echo done", "npm run build", "npm run build && npm test"),
        ("npm test > log; cat log", "npm test > log", "npm test > log"),
        ("set +e\nnpm test\nexit 0", "npm test", "npm test"),
        ("npm test &", "npm test", "npm test"),
        ("npm test && echo ok || { echo no; }", "npm test", "npm test"),
        ("(npm test || true)", "npm test", "npm test"),
        ("bash -c 'npm test || :'", "npm test", "npm test"),
        ("if npm test; then echo ok; fi", "npm test", "npm test"),
        ("set -e; npm test || true", "npm test", "npm test"),
        ("npm test || exit 0; echo", "npm test", "npm test"),
        ("npm test && exit; echo", "npm test", "npm test && exit"),
        ("npm test || return 1; echo", "npm test", "npm test || return 1"),
        ("(npm test || exit 1); echo", "npm test", "(npm test || exit 1)"),
    ],
)
def test_a_status_that_is_lost_is_found(command: str, part: str, instead: str) -> None:
    assert lost_status(command) == LostStatus(part=part, instead=instead)


@pytest.mark.parametrize(
    "command",
    [
        "sh check.sh 2>&1 | tail -5",
        "set -e; npm test; echo done",
        "npm test || exit 1",
        "npm test || exit 2; echo ok",
        "npm test || exit; echo ok",
        "npm test || { echo no; exit 1; }; echo ok",
        "bash -c 'npm test || exit 1; echo ok'",
        "for f in a b; do test -f $f || exit 1; done; echo ok",
        "if ! npm test; then exit $?; fi; echo ok",
        "f() { npm test || exit 1; }; f; echo ok",
        "npm test || { echo no; exit 1; }",
        "rm -f out || true; npm test",
        "cd api; npm test",
        "if [ -e a ]; then npm test; else exit 1; fi",
        "! grep -q TODO a.py",
        "npm test; test $? -eq 1",
        "true",
        "npm test 'unclosed",
    ],
)
def test_a_status_that_counts_is_left_alone(command: str) -> None:
    assert lost_status(command) is None


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("(exit 3) | cat", 3),
        ("nosuch-tool 2>&1 | tail -5", 127),
        ("yes | head -1 && true", 0),
        ("{ yes | head -1; } | cat", 0),
        ("cat <<E | grep -q x\nx\nE", 0),
        ("! yes | grep -q y", 1),
        ("yes | head -1; (exit 4) | cat", 4),
        ("echo 'unclosed", 2),
    ],
)
def test_a_pipe_fails_with_each_stage_but_not_with_an_early_reader(
    command: str, status: int
) -> None:
    words = ["bash", "-c", with_pipe_failures(command)]
    ended = subprocess.run(words, capture_output=True, timeout=20, check=False)
    assert ended.returncode == status, ended.stderr

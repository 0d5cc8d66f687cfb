"""What a check can do in the sandbox, tried with real commands; skipped where there is no sandbox."""

import asyncio
import os
import pwd
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.tool_calls import ALLOW, ToolCall, Verdict
from ralph_tui.domain.verification.check_commands import SandboxException, SandboxExceptions
from ralph_tui.engine.commits.task_commits import HookSandbox
from ralph_tui.engine.safety.command_sandbox import NO_EXCEPTIONS, CommandSandbox, Prefix
from ralph_tui.engine.verification.check_command import CommandResult, run_command
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.gate import Gate
from ralph_tui.guard.sandbox.os_sandbox import sandbox_for
from ralph_tui.vcs.commits import CommitRequest, Committer, HookError
from tests.harness.projects import git
from tests.harness.real_processes import PYTHON
from tests.harness.waiting import PATIENCE, until

pytestmark = pytest.mark.needs("sandbox")

CONNECT = """\
import socket, sys
where = sys.argv[1]
if where.isdigit():
    socket.create_connection(("127.0.0.1", int(where)), 5)
else:
    socket.socket(socket.AF_UNIX).connect(where)
"""


@contextmanager
def listening(directory: Path) -> Iterator[dict[str, str]]:
    """What is there to be reached from outside the sandbox: a port, a socket and a directory."""
    outside = directory / "outside"
    outside.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as port, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(directory / "engine.sock"))
        unix.listen()
        yield {
            "port": str(port.getsockname()[1]),
            "sockets": str(directory / "engine.sock"),
            "writable": str(outside),
        }


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Outside of /tmp, whose contents no held command sees in any case: here, or at home for a checkout below it."""
    checkout = Path(__file__).parents[3]
    home = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache" / "ralph-tests"
    base = home if checkout.is_relative_to("/tmp") else checkout / ".pytest_cache" / "sandbox"
    base.mkdir(parents=True, exist_ok=True)
    directory = base / f"{tmp_path_factory.mktemp('place').name}-{os.getpid()}"
    subprocess.run(["rm", "-rf", str(directory)], check=True)
    (directory / "project" / ".ralph").mkdir(parents=True)
    (directory / "project" / "connect.py").write_text(CONNECT)
    yield directory
    subprocess.run(["rm", "-rf", str(directory)], check=True)


@asynccontextmanager
async def sandbox(
    place: Path, exceptions: SandboxExceptions = NO_EXCEPTIONS
) -> AsyncIterator[CommandSandbox]:
    held = sandbox_for(place / "project", place / "home", os.environ)
    made = CommandSandbox(place / "project", held, exceptions)
    await made.open()
    try:
        yield made
    finally:
        await made.close()


async def ran(made: CommandSandbox, place: Path, command: str) -> CommandResult:
    return await run_command(
        command,
        cwd=place / "project",
        environment=dict(os.environ),
        limit_seconds=60,
        prefix=made.prefix(command),
    )


def tries(there: dict[str, str]) -> dict[str, str]:
    python = f"{PYTHON} connect.py"
    return {
        "port": f"{python} {there['port']}",
        "sockets": f"{python} '{there['sockets']}'",
        "writable": f"touch '{there['writable']}/made'",
    }


def there(*paths: str) -> bool:
    return all(os.path.lexists(path) for path in paths)


def still_there(words: str) -> bool:
    return any(
        words in " ".join(process.info["cmdline"] or ())
        for process in psutil.process_iter(["cmdline"])
        if process.pid != os.getpid()
    )


async def test_nothing_outside_is_reached_and_an_exception_opens_exactly_that(place: Path) -> None:
    with listening(place) as there:
        commands = tries(there)
        exceptions = {
            "port": {"ports": (int(there["port"]),)},
            "sockets": {"sockets": (there["sockets"],)},
            "writable": {"writable": (there["writable"],)},
        }
        async with sandbox(place) as made:
            for name, command in commands.items():
                assert (await ran(made, place, command)).exit_code != 0, name
        for opened, fields in exceptions.items():
            command = "; ".join(f"{c} && echo {name}" for name, c in commands.items())
            exception = SandboxException.model_validate(fields)
            async with sandbox(place, {command: exception}) as made:
                done = await ran(made, place, command)
                assert [n for n in commands if f"{n}\n" in done.tail] == [opened], done.tail
                other = await ran(made, place, f"{command}; true")
                assert not [n for n in commands if f"{n}\n" in other.tail], other.tail


async def test_the_whole_network_is_opened_by_its_exception(place: Path) -> None:
    with listening(place) as there:
        command = tries(there)["port"]
        async with sandbox(place, {command: SandboxException(network=True)}) as made:
            done = await ran(made, place, command)
    assert done.exit_code == 0, done.tail


async def test_a_tool_makes_its_own_cache_and_leaves_those_of_the_person(place: Path) -> None:
    cache = place / "home" / ".cache"
    (cache / "theirs").mkdir(parents=True)
    (cache / "theirs" / "kept").write_text("kept")
    command = f'cd "{cache}" && mkdir -p new/v1 && cat theirs/kept && ! touch theirs/x'
    async with sandbox(place) as made:
        done = await ran(made, place, command)
    assert (done.exit_code, done.tail[:4]) == (0, "kept"), done.tail
    assert {entry.name for entry in cache.iterdir()} == {"theirs", "uv"}


async def test_checks_share_a_temporary_directory_that_ends_with_the_run(place: Path) -> None:
    async with sandbox(place) as made:
        await ran(made, place, 'echo kept > "$TMPDIR/one"; echo x > /tmp/two')
        done = await ran(made, place, 'cat "$TMPDIR/one"; ls /tmp /var/tmp')
        words = made.prefix("true")
        scratch = words[words.index("/tmp") - 1]
        assert there(f"{scratch}/one", f"{scratch}/two")
    assert "kept" in done.tail
    assert not there(scratch)
    assert not there("/tmp/two")


async def test_nobody_of_a_check_outlives_it(place: Path) -> None:
    async with sandbox(place) as made:
        done = await ran(
            made, place, "setsid sh -c 'sleep 300; touch late' >/dev/null 2>&1 & echo done"
        )
        assert done.exit_code == 0
        await until(lambda: not still_there("touch late"), what="the end of the detached process")


def gate_of(
    root: Path, command: str, prefix: Prefix, emit: Callable[[ev.Event], None] = lambda _: None
) -> Gate:
    async def allow(_: ToolCall) -> Verdict:
        return ALLOW

    return Gate(
        root,
        rules=lambda: GateRules(commands=(command,)),
        timeout=60,
        environment=dict(os.environ),
        review=allow,
        emit=emit,
        prefix=prefix,
    )


async def test_a_check_leaves_nothing_that_other_programs_run_by_themselves(place: Path) -> None:
    root, told = place / "project", list[ev.Event]()
    (root / ".vscode").mkdir()
    for mine in (root / ".vscode" / "tasks.json", root / ".envrc"):
        mine.write_text("mine")
    (root / "check.sh").write_text("""
        mkdir .claude .husky; echo sly >.claude/settings.json; echo sly >.husky/pre-commit; echo sly >.mcp.json
        echo sly >.vscode/tasks.json; echo sly >.vscode/settings.json; echo sly >.envrc; mv .envrc other; true
    """)
    async with sandbox(place) as held:
        gate = gate_of(root, "sh check.sh", held.prefix, told.append)
        assert (await gate.run(Task(id="a"), "")).passed
    assert not {".claude", ".husky", ".mcp.json", "other"} & {path.name for path in root.iterdir()}
    assert (root / ".envrc").read_text() == "mine"
    assert [path.read_text() for path in (root / ".vscode").iterdir()] == ["mine"]
    (aside,) = root.glob(".claude.*")
    assert (aside / "settings.json").exists(), "nothing is deleted, as it could be the person's"
    assert [aside.name in event.text for event in told if isinstance(event, ev.Notice)] == [True]


@pytest.fixture
def repository(place: Path) -> Path:
    root = place / "project"
    (root / ".gitignore").write_text(".ralph/\n.envrc\n")
    for words in ("init -qb work", "config user.name Me", "config user.email me@example.org"):
        git(root, *words.split())
    return root


async def test_a_filter_of_the_project_runs_in_the_sandbox(place: Path, repository: Path) -> None:
    """An agent may have written it, and `git add` runs it. One that is installed runs as ever."""
    (repository / "tidy.sh").write_text('cat; echo "$1"; echo sly >../sly; true')
    (repository / ".gitattributes").write_text("*.txt filter=tidy\n*.md filter=own\n")
    git(repository, "config", "filter.tidy.clean", "sh tidy.sh %f")
    git(repository, "config", "filter.own.clean", f"tee {place}/own")
    name = "a' $(touch x) b.txt"
    for file in (name, "b.md"):
        (repository / file).write_text("text\n")
    async with sandbox(place) as held:
        hooks = HookSandbox(held, lambda: {"PATH": os.environ["PATH"]}, PATIENCE)
        committer = Committer(repository, None, hooks.filters)
        assert await asyncio.to_thread(committer.commit, CommitRequest("feat: a"))
    assert git(repository, "show", f"HEAD:{name}") == f"text\n{name}\n"
    assert not (place / "sly").exists()
    assert not (repository / "x").exists()
    assert (place / "own").read_text() == "text\n"


async def test_a_hook_leaves_nothing_that_other_programs_run_by_themselves(
    place: Path, repository: Path
) -> None:
    hook = repository / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho sly >.envrc\n")
    hook.chmod(0o755)
    async with sandbox(place) as held:
        hooks = HookSandbox(held, lambda: {"PATH": os.environ["PATH"]}, PATIENCE)
        loop = asyncio.get_running_loop()

        def run(
            words: tuple[str, ...], directory: Path, variables: Mapping[str, str], writable: Path
        ) -> tuple[int | None, str]:
            ran = hooks.run(words, directory, variables, writable)
            return asyncio.run_coroutine_threadsafe(ran, loop).result()

        with pytest.raises(HookError, match=r"pre-commit failed") as failed:
            await asyncio.to_thread(Committer(repository, run).commit, CommitRequest("feat: a"))
    assert "what other programs run" in failed.value.output
    assert not (repository / ".envrc").exists()


async def test_a_check_whose_sandbox_did_not_start_is_started_again(tmp_path: Path) -> None:
    """A socket that was to be covered went away meanwhile, for one; that says nothing about the check."""
    prefixes = [("sh", "-c", "echo 'bwrap: no such file'; exit 1", "sh"), ("env",)]
    gate = gate_of(tmp_path, "true", lambda *_: prefixes.pop(0) if prefixes else ())
    result = await gate.run(Task(id="a"), "")
    assert result.passed, result.receipts
    assert prefixes == []

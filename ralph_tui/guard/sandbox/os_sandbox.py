"""Confines an agent's commands with the operating system's sandbox, and tests whether it works here.

It is the one layer that reads no text, so it also holds scripts, make targets and whatever they start.
"""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.base import Model
from ralph_tui.domain.verification.check_commands import SandboxException
from ralph_tui.guard.core.policy import SECRETS
from ralph_tui.guard.sandbox.environment import SHIMS, repository

_CLI_SECRETS = (".credentials.json", "projects", "history.jsonl")
"""Below the CLI's own directory, of which its shell needs the rest."""

GONE = "ralph: the sandbox is gone"
"""Said by a command that was to run in it; see shims/every_command.sh."""
INSTALL = "Install bubblewrap and socat, for example: apt install bubblewrap socat"
PROXY_PORT = 3128
"""Where commands in the sandbox find the proxy that leads to the allowed hosts; the CLI uses the same."""

LOST_HINT = "Run `ralph doctor`. To work without a sandbox, set safety.sandbox to off."
_LONGEST_PLACE = 60
_PROBE_SECONDS = 10
_BWRAP = "bwrap"
_PROGRAMS = (_BWRAP, "socat")
_NOTHING_MORE = SandboxException()
_SHARED = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - emptied, not written to
_OWN_SPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-drop", "ALL",
)  # fmt: skip
_LISTEN = f"exec 3<>/dev/tcp/127.0.0.1/{PROXY_PORT} && read -r -t 5 word <&3 && echo $word"
_FORWARD = """
while [ "$1" != -- ]; do
  (socat "TCP-LISTEN:${1%%:*},bind=127.0.0.1,fork,reuseaddr" "UNIX-CONNECT:${1#*:}" >/dev/null 2>&1 &)
  printf -v port '0100007F:%04X' "${1%%:*}"
  until [ $SECONDS -gt 5 ]; do
    while read -r _ local _ state _; do
      [ "$local $state" = "$port 0A" ] && break 2
    done </proc/net/tcp
  done
  shift
done
shift
exec "$@"
"""
"""Starts a forwarder for each `PORT:SOCKET`, waits until it listens, then becomes the command after `--`."""

_SHAPE = (
    "--dev", "/dev", "--unshare-user", "--cap-drop", "ALL", "--unshare-pid", "--proc", "/proc",
    "--unshare-net", "--die-with-parent", "--new-session",
)  # fmt: skip
"""What the CLI asks of bubblewrap, beside the paths."""


class Sandbox(Model):
    """What the sandbox holds the commands of a session to; all paths are absolute."""

    witness: str = ""
    """A directory that can be written to outside the sandbox only."""
    home: str = ""
    """The person's home directory, which commands may read."""
    required: bool = False
    """Whether a session without it must not start."""
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    """Beside the project and the CLI's temporary directory."""
    domains: tuple[str, ...] = ()
    """Hosts that commands may reach."""


def witness_variable(held: Sandbox | None) -> dict[str, str]:
    """Return what each of the agent's commands is told, so that none runs where the sandbox is gone."""
    if held is None or sys.platform == "darwin":
        return {}
    return {"RALPH_GUARD_WITNESS": held.witness}


def sandbox_for(
    root: Path,
    home: Path,
    environ: Mapping[str, str],
    *,
    required: bool = False,
    domains: tuple[str, ...] = (),
    writable: tuple[str, ...] = (),
) -> Sandbox:
    """Make the sandbox of a project, and missing caches, because package managers work in no other place.

    Args:
        root: The project.
        home: The person's home directory.
        environ: The variables that say where caches are.
        required: Whether a session without a sandbox must not start.
        domains: Hosts that commands may reach.
        writable: More directories to write to, as the person names them.
    """
    caches = (_uv_cache(home, environ), *_package_caches(root, home, environ))
    for cache in caches:
        cache.mkdir(parents=True, exist_ok=True)
    extra = tuple(Path(name).expanduser() for name in writable)
    cli = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    secrets = [*(home / name for name in SECRETS), *(cli / name for name in _CLI_SECRETS)]
    return Sandbox(
        witness=os.path.realpath(root / ".ralph"),
        home=os.path.realpath(home),
        required=required,
        deny_write=_guarded_directories(root),
        deny_read=_existing(secrets),
        allow_write=_existing([*caches, *extra]),
        domains=domains,
    )


def _guarded_directories(root: Path) -> tuple[str, ...]:
    """List what no command may write to: ralph's state and the repository, also where it is a worktree's."""
    return _existing([root / ".ralph", root / ".git", Path(repository(root))])


def _uv_cache(home: Path, environ: Mapping[str, str]) -> Path:
    """Return where uv keeps what it downloaded, by uv's own rules."""
    if named := environ.get("UV_CACHE_DIR"):
        return Path(named)
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "uv"


def _package_caches(root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield where the package managers of this project's languages keep downloads and build results."""
    if (root / "package.json").exists():
        yield Path(environ.get("npm_config_cache") or home / ".npm")
    if (root / "go.mod").exists():
        go = Path(environ.get("GOPATH") or home / "go")
        cache = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
        yield Path(environ.get("GOCACHE") or cache / "go-build")
        yield Path(environ.get("GOMODCACHE") or go / "pkg" / "mod")
    if (root / "Cargo.toml").exists():
        cargo = Path(environ.get("CARGO_HOME") or home / ".cargo")
        yield from (cargo / "registry", cargo / "git")


@dataclass(frozen=True)
class Openings:
    """What a held command gets from this run.

    Attributes:
        scratch: A directory of the run; the command sees it as its temporary directory.
        forwards: Unix sockets by the port of the sandbox's own loopback that leads to each.
        exception: What the person opens for this command.
        writable: Directories of ralph's own that this command writes to, such as its report's.
    """

    scratch: Path
    forwards: Mapping[int, Path]
    exception: SandboxException | None = None
    writable: tuple[Path, ...] = ()


def held_prefix(held: Sandbox, root: Path, given: Openings) -> tuple[str, ...]:
    """Return the words that start a command the way the CLI starts an agent's, for the gate and later steps.

    The command has its own processes, network and temporary directory. It writes only in the project,
    but not in ralph's state or the repository. Blocks for a moment: it looks for sockets to cover.
    """
    extra = given.exception or _NOTHING_MORE
    opened = _existing([Path(name).expanduser() for name in extra.writable])
    sockets = _existing([Path(name).expanduser() for name in extra.sockets])
    real_root = os.path.realpath(root)
    shown = _shown_again(root, held.home, network=extra.network)
    writable = (real_root, *held.allow_write, *map(str, given.writable))
    words = (
        *_OWN_SPACES,
        *(() if extra.network else ("--unshare-net",)),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *_temporary(given.scratch),
        *_binds("--ro-bind", shown),
        *_binds("--bind", writable),
        *_unseen(held.deny_read),
        *_binds("--bind", opened),
        *_binds("--ro-bind", held.deny_write),
        *_covered(_host_sockets(), keep=sockets, shown=(*shown, *writable, *opened)),
        *_binds("--bind", sockets),
        *_forwarding({} if extra.network else given.forwards),
    )
    return (_BWRAP, *words)


def _temporary(scratch: Path) -> tuple[str, ...]:
    """Empty the directories in which other programs keep sockets and half-written files."""
    own = (word for name in _SHARED[:2] for word in ("--bind", str(scratch), name))
    # The cache is on another mount than the project, so uv's hard links would fail with a warning.
    settings = (("TMPDIR", _SHARED[0]), ("UV_LINK_MODE", "copy"))
    named = (word for name, value in settings for word in ("--setenv", name, value))
    return (*own, "--tmpfs", _SHARED[2], *named)


def _shown_again(root: Path, home: str, *, network: bool) -> tuple[str, ...]:
    """List what commands need of the emptied directories: programs, the home and the repository above."""
    programs = os.environ.get("PATH", os.defpath).split(os.pathsep)
    needed = [*programs, sys.prefix, sys.base_prefix, str(SHIMS), home]
    needed.append(str(Path(repository(root)).parent))
    if network:
        needed.append("/etc/resolv.conf")
    found = sorted(_existing([Path(name) for name in needed if name]), key=len)
    return tuple(n for n in found if n.startswith(tuple(f"{name}/" for name in _SHARED)))


def _unseen(paths: tuple[str, ...]) -> Iterator[str]:
    """Cover directories with an empty one and files with nothing."""
    for path in paths:
        yield from ("--tmpfs", path) if Path(path).is_dir() else ("--ro-bind", os.devnull, path)


def _host_sockets() -> Iterator[str]:
    """Yield Unix sockets on this machine; a read-only directory does not keep anyone from connecting to one."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]:
            name = line.split(None, 7)[7:]
            if name and name[0].startswith("/"):
                yield name[0]


def _covered(
    sockets: Iterator[str], keep: tuple[str, ...], shown: tuple[str, ...]
) -> Iterator[str]:
    """Cover sockets the command could see: all but those in emptied directories that are not `shown` again."""
    emptied = tuple(f"{name}/" for name in _SHARED)
    seen = tuple(f"{name}/" for name in shown)
    for path in dict.fromkeys(os.path.realpath(name) for name in sockets):
        with contextlib.suppress(OSError):
            if (
                path in keep
                or (path.startswith(emptied) and not path.startswith(seen))
                or not stat.S_ISSOCK(os.lstat(path).st_mode)
            ):
                continue
            yield from ("--ro-bind", os.devnull, path)


def _binds(how: str, paths: tuple[str, ...]) -> Iterator[str]:
    return (word for path in paths for word in (how, path, path))


def _forwarding(forwards: Mapping[int, Path]) -> tuple[str, ...]:
    """Lead ports of the sandbox's loopback out of it, before the command begins."""
    if not forwards:
        return ("--",)
    inside = {port: f"{_SHARED[2]}/ralph-{port}" for port in forwards}
    binds = (word for p, path in forwards.items() for word in ("--bind", str(path), inside[p]))
    pairs = (f"{port}:{path}" for port, path in inside.items())
    proxy = _proxy_variables() if PROXY_PORT in forwards else ()
    return (*binds, *proxy, "--", "bash", "-c", _FORWARD, "ralph-forward", *pairs, "--")


def _proxy_variables() -> Iterator[str]:
    address = f"http://127.0.0.1:{PROXY_PORT}"
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        for spelled in (name, name.upper()):
            yield from ("--setenv", spelled, address)
    for spelled in ("no_proxy", "NO_PROXY"):
        yield from ("--setenv", spelled, "localhost,127.0.0.1,::1")


def trial_prefix(held: Sandbox, root: Path) -> tuple[str, ...]:
    """Return what starts a command held as the CLI holds it; empty on macOS, where only the CLI can."""
    if sys.platform == "darwin":
        return ()
    binds = (
        *_binds("--bind", (os.path.realpath(root), *held.allow_write)),
        *_binds("--ro-bind", held.deny_write),
        *_unseen(held.deny_read),
    )
    return (_BWRAP, "--ro-bind", "/", "/", *_SHAPE, *binds, "--")


def why_no_sandbox() -> str:
    """Try whether commands can be held here, and say why not; empty when they can. Blocks for a moment."""
    if sys.platform == "darwin":
        return "" if shutil.which("sandbox-exec") else "sandbox-exec is missing"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed"
    try:
        place = short_temporary()
        with tempfile.TemporaryDirectory(prefix="ralph-sandbox-", dir=place) as directory:
            return _why_not_reached(Path(directory, "out"))
    except OSError as error:
        return f"it cannot be tried ({error})"


def short_temporary() -> str | None:
    """Return where to make directories for Unix sockets, whose names are bounded; None is the usual place."""
    return None if len(tempfile.gettempdir()) <= _LONGEST_PLACE else _SHARED[0]


def lost(reason: str) -> str:
    """Say why a run ended because the sandbox broke."""
    return f"The sandbox stopped working during the run: {reason}. No command ran outside it."


def _why_not_reached(path: Path) -> str:
    """Send a word through the whole chain: out of bwrap, by socat inside and outside, to a port here."""
    word = uuid.uuid4().hex
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_PROBE_SECONDS)
        port = listener.getsockname()[1]
        outside = subprocess.Popen(
            ["socat", f"UNIX-LISTEN:{path},fork", f"TCP:127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            if not _appears(path, outside):
                return f"socat does not work ({_last_line(outside)})"
            answering = threading.Thread(target=_answer, args=(listener, word), daemon=True)
            answering.start()
            return _why_not_heard(path, word)
        finally:
            _end(outside)


def _appears(path: Path, listening: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + _PROBE_SECONDS
    while not path.exists():
        if listening.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def _last_line(process: "subprocess.Popen[bytes]") -> str:
    process.kill()
    assert process.stderr is not None
    said = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
    return said[-1] if said else f"status {process.wait()}"


def _end(process: "subprocess.Popen[bytes]") -> None:
    with process:  # waits for it and closes its pipe
        process.kill()


def _answer(listener: socket.socket, word: str) -> None:
    with contextlib.suppress(OSError):
        caller, _ = listener.accept()
        with caller:
            caller.sendall(f"{word}\n".encode())


def _why_not_heard(path: Path, word: str) -> str:
    """Ask for the word from inside a sandbox of the shape that the CLI uses."""
    listen = (f"{PROXY_PORT}:{path}", "--", "bash", "-c", _LISTEN)
    trial = [_BWRAP, "--ro-bind", "/", "/", *_SHAPE, "bash", "-c", _FORWARD, "ralph-try", *listen]
    try:
        done = subprocess.run(
            trial,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not run ({error})"
    if word in done.stdout:
        return ""
    said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
    blamed = (
        "socat does not work in it" if "bash:" in said else "this system does not let bwrap work"
    )
    return f"{blamed} ({said})"


def _existing(paths: list[Path]) -> tuple[str, ...]:
    """Resolve the paths that exist: a rule about a link would not hold for where it leads."""
    found = (os.path.realpath(path) for path in paths if path.exists())
    return tuple(dict.fromkeys(found))

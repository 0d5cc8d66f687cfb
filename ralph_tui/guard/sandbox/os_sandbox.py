"""Confines an agent's commands with the operating system's sandbox, and tests whether it works.

This layer does not depend on reading text, so it also confines scripts, make targets and what they start.
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
from ralph_tui.guard.sandbox.environment import repository

RUN_BY_OTHERS = (
    ".claude", ".mcp.json", ".vscode", ".idea", ".devcontainer", ".devcontainer.json", ".husky", ".envrc", ".bashrc",
    ".bash_profile", ".profile", ".zshenv", ".zshrc", ".zprofile", ".gitconfig", ".gitmodules", ".ripgreprc",
)  # fmt: skip
"""What shells, editors, git and agents run automatically where they find it: no check writes it."""

_CLI_SECRETS = (".credentials.json", "projects", "history.jsonl")

GONE = "ralph: the sandbox is gone"
"""The beginning of the error of a command outside the sandbox; see shims/every_command.sh."""
INSTALL = "Install bubblewrap and socat (for example with apt install bubblewrap socat)"
NOT_HELD = (
    "scripts, inline code and roundabout commands that write outside the project, change .git, read your keys"
    " or stop ralph"
)
"""What only a sandbox holds back: the guard's text rules do not see it."""
PROXY_PORT = 3128

SANDBOX_LOST_HINT = "Run `ralph doctor`. To work without a sandbox, set safety.sandbox to off."
_MAX_TEMP_PATH = 60
_PROBE_SECONDS = 10
_BWRAP = "bwrap"
_PROGRAMS = (_BWRAP, "socat")
_NO_EXCEPTION = SandboxException()
_PACKAGE = str(Path(__file__).parents[2])  # its reporters and shims run inside
_EMPTIED = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - emptied, not written to
_NAMESPACES = (
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
"""Starts a forwarder for each `PORT:SOCKET`, waits until it listens, then runs the command after `--`."""

_CLI_WORDS = (
    _BWRAP, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-user", "--cap-drop", "ALL", "--unshare-pid", "--proc", "/proc",
    "--unshare-net", "--die-with-parent", "--new-session",
)  # fmt: skip


class Sandbox(Model):
    """The limits of the sandbox for a session's commands; all paths are absolute."""

    witness: str = ""
    """A directory that is writable only outside the sandbox."""
    home: str = ""
    cache: str = ""
    required: bool = False
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()


def witness_variable(sandbox: Sandbox | None) -> dict[str, str]:
    if sandbox is None or sys.platform == "darwin":
        return {}
    return {"RALPH_GUARD_WITNESS": sandbox.witness}


def sandbox_for(
    root: Path,
    home: Path,
    environ: Mapping[str, str],
    *,
    required: bool = False,
    domains: tuple[str, ...] = (),
    writable: tuple[str, ...] = (),
) -> Sandbox:
    """Return the sandbox of a project; create missing caches, which package managers need.

    Args:
        required: Whether a session must not start without the sandbox.
        domains: Hosts that commands may reach.
        writable: More writable directories, as given in the settings.
    """
    all_caches = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    caches = (_uv_cache(home, environ), *_package_caches(root, home, environ))
    for cache in (all_caches, *caches):
        with contextlib.suppress(OSError):  # of a read-only home
            cache.mkdir(parents=True, exist_ok=True)
    extra = tuple(Path(name).expanduser() for name in writable)
    cli = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    secrets = [*(home / name for name in SECRETS), *(cli / name for name in _CLI_SECRETS)]
    return Sandbox(
        witness=os.path.realpath(root / ".ralph"),
        home=os.path.realpath(home),
        cache=os.path.realpath(all_caches),
        required=required,
        deny_write=_resolved_existing([root / ".ralph", root / ".git", Path(repository(root))]),
        deny_read=_resolved_existing(secrets),
        allow_write=_resolved_existing([*caches, *extra]),
        domains=domains,
    )


def _uv_cache(home: Path, environ: Mapping[str, str]) -> Path:
    if named := environ.get("UV_CACHE_DIR"):
        return Path(named)
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "uv"


def _package_caches(root: Path, home: Path, environ: Mapping[str, str]) -> Iterator[Path]:
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
class SandboxAccess:
    """What a run makes available to a sandboxed command.

    Attributes:
        scratch: A directory that the command sees as its temporary directory.
        forwards: Unix sockets, by the loopback port in the sandbox that leads to each.
        exception: What the person permits this command in addition.
        writable: Directories of ralph that this command may write to, such as that of its report.
        mounts: Paths, where the command sees each, and whether it may write there. The first takes the place of the
            project, of which nothing else is visible.
    """

    scratch: Path
    forwards: Mapping[int, Path]
    exception: SandboxException | None = None
    writable: tuple[Path, ...] = ()
    mounts: tuple[tuple[Path, Path, bool], ...] = ()


def sandbox_prefix(sandbox: Sandbox, root: Path, openings: SandboxAccess) -> tuple[str, ...]:
    """Return the words before a command of the gate or a later step that confine it as the CLI confines an agent's.

    The command has its own processes, network and temporary directory. It may write only in the project,
    except to ralph's state and the repository. Blocks briefly to find sockets to hide.
    """
    extra = openings.exception or _NO_EXCEPTION
    opened = _resolved_existing([Path(name).expanduser() for name in extra.writable])
    sockets = _resolved_existing([Path(name).expanduser() for name in extra.sockets])
    real_root = os.path.realpath(root)
    shown = _needed_paths(root, sandbox.home, network=extra.network)
    hidden = real_root if openings.mounts else None

    def seen(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(p for p in paths if hidden is None or not Path(p).is_relative_to(hidden))

    writable = seen((real_root, *sandbox.allow_write, *map(str, openings.writable)))
    inside = tuple(str(path) for _, path, _ in openings.mounts[1:])
    covered = tuple(
        path
        for path in _host_sockets()
        if seen((path,)) or path.startswith(tuple(f"{p}/" for p in inside))
    )
    words = (
        *_NAMESPACES,
        *(() if extra.network else ("--unshare-net",)),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
        *_private_temp(openings.scratch),
        *_binds("--ro-bind", shown),
        *_own_cache(sandbox.cache),
        *_binds("--bind", writable),
        *_hide(sandbox.deny_read),
        *_stand_ins(root / ".ralph", sandbox.deny_read),
        *_binds("--bind", seen(opened)),
        *_binds("--ro-bind", seen(sandbox.deny_write)),
        *_binds("--ro-bind", seen(_resolved_existing([root / name for name in RUN_BY_OTHERS]))),
        *_mount(openings.mounts),
        *_cover_sockets(covered, keep=sockets, shown=(*shown, *writable, *opened)),
        *_binds("--bind", seen(sockets)),
        *_forward_ports({} if extra.network else openings.forwards),
    )
    return (_BWRAP, *words)


def _private_temp(scratch: Path) -> tuple[str, ...]:
    own = (word for name in _EMPTIED[:2] for word in ("--bind", str(scratch), name))
    # The cache and the project are on different mounts, so uv's hard links would fail with a warning. `uvx` and `pip`,
    # which tox and nox use, and the spawn-wrap of nyc write to directories of the home that are read-only here.
    tmp = _EMPTIED[0]
    written = {
        "TMPDIR": tmp,
        "UV_TOOL_DIR": f"{tmp}/uv-tools",
        "PIP_CACHE_DIR": f"{tmp}/pip",
        "SPAWN_WRAP_SHIM_ROOT": tmp,
    }
    settings = {**written, "UV_LINK_MODE": "copy"}.items()
    named = (word for name, value in settings for word in ("--setenv", name, value))
    return (*own, "--tmpfs", _EMPTIED[2], *named)


def _own_cache(cache: str) -> Iterator[str]:
    """Let tools make new caches, which end with the command; those of the person are read-only."""
    with contextlib.suppress(OSError):
        held = tuple(entry.path for entry in os.scandir(cache) if os.path.exists(entry))  # noqa: PTH110 - pathlib raises
        yield from ("--tmpfs", cache, *_binds("--ro-bind", held))


def _needed_paths(root: Path, home: str, *, network: bool) -> tuple[str, ...]:
    programs = os.environ.get("PATH", os.defpath).split(os.pathsep)
    needed = [*programs, sys.prefix, sys.base_prefix, _PACKAGE, home]
    needed.append(str(Path(repository(root)).parent))
    if network:
        needed.append("/etc/resolv.conf")
    found = sorted(_resolved_existing([Path(name) for name in needed if name]), key=len)
    return tuple(n for n in found if n.startswith(tuple(f"{name}/" for name in _EMPTIED)))


def _hide(paths: tuple[str, ...]) -> Iterator[str]:
    for path in paths:
        yield from ("--tmpfs", path) if Path(path).is_dir() else ("--ro-bind", os.devnull, path)


def _stand_ins(directory: Path, hidden: tuple[str, ...]) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for entry in directory.iterdir():
            target = os.path.realpath(entry)
            if entry.is_symlink() and target.startswith(tuple(f"{path}/" for path in hidden)):
                yield from ("--ro-bind", os.devnull, target)


def _host_sockets() -> Iterator[str]:
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/unix").read_text(errors="replace").splitlines()[1:]:
            name = line.split(None, 7)[7:]
            if name and name[0].startswith("/"):
                yield name[0]


def _cover_sockets(
    sockets: tuple[str, ...], keep: tuple[str, ...], shown: tuple[str, ...]
) -> Iterator[str]:
    emptied = tuple(f"{name}/" for name in _EMPTIED)
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


def _mount(mounts: tuple[tuple[Path, Path, bool], ...]) -> Iterator[str]:
    for source, inside, writable in mounts:
        yield from ("--bind" if writable else "--ro-bind", str(source), str(inside))


def _forward_ports(forwards: Mapping[int, Path]) -> tuple[str, ...]:
    if not forwards:
        return ("--",)
    inside = {port: f"{_EMPTIED[2]}/ralph-{port}" for port in forwards}
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


def cli_sandbox_prefix(sandbox: Sandbox, root: Path) -> tuple[str, ...]:
    """Return the words that confine a command as the CLI does; none on macOS, where only the CLI can."""
    if sys.platform == "darwin":
        return ()
    binds = (
        *_binds("--bind", (os.path.realpath(root), *sandbox.allow_write)),
        *_binds("--ro-bind", sandbox.deny_write),
        *_hide(sandbox.deny_read),
    )
    return (*_CLI_WORDS, *binds, "--")


def sandbox_problem() -> str:
    """Return why the sandbox does not work here, or an empty string if it works. Blocks briefly."""
    if sys.platform == "darwin":
        return "" if shutil.which("sandbox-exec") else "sandbox-exec is missing"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed"
    try:
        place = short_temporary()
        with tempfile.TemporaryDirectory(prefix="ralph-sandbox-", dir=place) as directory:
            return _probe_chain(Path(directory, "out"))
    except OSError as error:
        return f"testing it failed ({error})"


def short_temporary() -> str | None:
    return None if len(tempfile.gettempdir()) <= _MAX_TEMP_PATH else _EMPTIED[0]


def lost(reason: str) -> str:
    return f"The sandbox stopped working during the run: {reason}. No command ran outside it."


def _probe_chain(path: Path) -> str:
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
            if not _wait_for_socket(path, outside):
                return f"socat does not work ({_last_line(outside)})"
            answering = threading.Thread(target=_serve_word, args=(listener, word), daemon=True)
            answering.start()
            return _probe_inside(path, word)
        finally:
            _kill(outside)


def _wait_for_socket(path: Path, listening: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + _PROBE_SECONDS
    while not os.path.exists(path):  # noqa: PTH110 - pathlib raises
        if listening.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def _last_line(process: "subprocess.Popen[bytes]") -> str:
    process.kill()
    assert process.stderr is not None
    lines = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"status {process.wait()}"


def _kill(process: "subprocess.Popen[bytes]") -> None:
    with process:  # waits for it and closes its pipe
        process.kill()


def _serve_word(listener: socket.socket, word: str) -> None:
    with contextlib.suppress(OSError):
        caller, _ = listener.accept()
        with caller:
            caller.sendall(f"{word}\n".encode())


def _probe_inside(path: Path, word: str) -> str:
    listen = (f"{PROXY_PORT}:{path}", "--", "bash", "-c", _LISTEN)
    trial = [*_CLI_WORDS, "bash", "-c", _FORWARD, "ralph-try", *listen]
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
        return f"bwrap cannot be started ({error})"
    if word in done.stdout:
        return ""
    reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
    cause = (
        "socat does not work in the sandbox"
        if "bash:" in reason
        else "bwrap does not work on this system"
    )
    return f"{cause} ({reason})"


def _resolved_existing(paths: list[Path]) -> tuple[str, ...]:
    """Resolve the paths that exist, because a rule for a symlink would not cover its target."""
    found = (os.path.realpath(path) for path in paths if os.path.exists(path))  # noqa: PTH110 - pathlib raises
    return tuple(dict.fromkeys(found))

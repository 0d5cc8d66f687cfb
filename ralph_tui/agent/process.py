"""The CLI in a process group of its own.

A terminal sends Ctrl+C to the whole foreground group; the CLI would take it as its own interrupt and
the iteration that was to be finished would fail. The SDK starts whatever `cli_path` names, so it gets
a small script that leaves our group, drops the variables the agent must not have (an environment
laid over ours can change them, not remove them), and becomes the CLI. The key goes through a pipe: in the
environment of the CLI, every process of the same user could read it.
"""

import sys
import tempfile
from pathlib import Path

SCRIPT = """\
#!{python} -IS
import os, sys
os.setpgid(0, 0)
for name in os.environ.pop("RALPH_GUARD_REMOVED", "").split():
    os.environ.pop(name, None)
for name, told in {handed!r}.items():
    key = os.environ.pop(name, "")
    if key:
        reader, writer = os.pipe()
        os.write(writer, os.fsencode(key))
        os.close(writer)
        os.set_inheritable(reader, True)
        os.environ[told] = str(reader)
os.execv({cli!r}, [{cli!r}, *sys.argv[1:]])
"""

HANDED = {
    "ANTHROPIC_API_KEY": "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_OAUTH_TOKEN": "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
}
"""Keys that the CLI reads from a descriptor, by the variable that names it."""

MAX_SHEBANG = 127
"""Linux cuts a longer first line."""


def launch_script(python: str, cli: str) -> str:
    """Return the script that becomes `cli`."""
    return SCRIPT.format(python=python, cli=cli, handed=HANDED)


def bundled_cli() -> Path | None:
    """Return the CLI inside the SDK's wheel, or None."""
    import claude_agent_sdk

    path = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    return path if path.is_file() else None


class Launcher:
    """Owns the script; `path` is None where it cannot be used, and the SDK finds the CLI itself."""

    def __init__(self) -> None:
        """Write the script into a private temporary directory."""
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self.path: Path | None = None
        cli = bundled_cli()
        first_line = f"#!{sys.executable} -IS"
        if cli is None or len(first_line) > MAX_SHEBANG or " " in sys.executable:
            return
        self._directory = tempfile.TemporaryDirectory(prefix="ralph-cli-")
        path = Path(self._directory.name) / "claude"
        path.write_text(launch_script(sys.executable, str(cli)), encoding="utf-8")
        path.chmod(0o700)
        self.path = path

    def close(self) -> None:
        """Remove the script."""
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None

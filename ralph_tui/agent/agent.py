"""Defines `ClaudeAgent`, which creates sessions on the real Claude Code CLI, one ahead of time."""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.agent.process import Launcher
from ralph_tui.agent.session import ClaudeSession
from ralph_tui.domain.documents.extensions import OWN_SERVER
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import inert
from ralph_tui.engine.core.ports import AgentSession, SessionSpec, Supervisor
from ralph_tui.store.io.rotation import append_log


def copied_skills(skills: tuple[Path, ...]) -> "tempfile.TemporaryDirectory[str]":
    try:
        directory = tempfile.TemporaryDirectory(prefix="ralph-skills-")
    except OSError as error:
        message = f"Cannot create a directory for the skills: {error}"
        raise SetupError(message, "Free some space in the temporary directory.") from error
    root = Path(directory.name)
    try:
        (root / ".claude-plugin").mkdir()
        about = root / ".claude-plugin" / "plugin.json"
        about.write_text(json.dumps({"name": OWN_SERVER}), encoding="utf-8")
        for skill in skills:
            shutil.copytree(skill, root / "skills" / skill.name)
    except (OSError, shutil.Error) as error:
        directory.cleanup()
        message = f"Cannot copy a skill: {error}"
        raise SetupError(message, "Check the permissions of the skill's directory.") from error
    return directory


class ClaudeAgent:
    """Creates sessions on the bundled CLI, and keeps at most one standby session ready."""

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, log: Path | None = None
    ) -> None:
        """Add `environment` to that of every CLI; append the CLI's stderr to `log`."""
        self._environment = dict(environment or {})
        self._log_path = log
        self._launcher = Launcher()
        self._skills: dict[tuple[Path, ...], tempfile.TemporaryDirectory[str]] = {}
        """Private copies of skills, which stay unchanged for the whole run."""
        self._standby: asyncio.Task[ClaudeSession] | None = None
        self._standby_spec: SessionSpec | None = None

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> AgentSession:
        session = await self._take_standby(spec) or await self._connect(spec)
        session.oversee(supervisor)
        return session

    def prepare(self, spec: SessionSpec) -> None:
        if self._standby is None:
            self._standby_spec = spec
            self._standby = asyncio.create_task(self._connect(spec), name="ralph-standby")

    async def close(self) -> None:
        """See `Agent.close`. Does not wait for a standby session that is still starting."""
        try:
            if self._standby is not None:
                self._standby.cancel()
                await asyncio.wait([self._standby])
                if self._standby.cancelled():
                    self._standby = None
            if (session := await self._pop_standby()) is not None:
                await session.close()
        finally:
            self._launcher.close()
            for directory in self._skills.values():
                directory.cleanup()
            self._skills.clear()

    async def _pop_standby(self) -> ClaudeSession | None:
        standby, self._standby = self._standby, None
        try:
            return await standby if standby is not None else None
        except (SetupError, OSError):
            return None

    async def _take_standby(self, spec: SessionSpec) -> ClaudeSession | None:
        session = await self._pop_standby()
        if session is None:
            return None
        if self._standby_spec == spec and session.alive:
            return session
        await session.close()
        return None

    async def _connect(self, spec: SessionSpec) -> ClaudeSession:
        if spec.skills and spec.skills not in self._skills:
            self._skills[spec.skills] = await asyncio.to_thread(copied_skills, spec.skills)
        copy = self._skills.get(spec.skills)
        plugin = Path(copy.name) if copy is not None else None
        session = ClaudeSession(spec, self._environment, self._log, self._launcher.path, plugin)
        try:
            await session.connect()
        except asyncio.CancelledError:
            await session.close()
            raise
        return session

    def _log(self, line: str) -> None:
        if self._log_path is not None:
            append_log(self._log_path, inert(line).rstrip("\n") + "\n")

"""A plugin that holds only the configured skills, for sessions that load no settings."""

import json
import shutil
import tempfile
from pathlib import Path

from ralph_tui.domain.documents.extensions import OWN_SERVER
from ralph_tui.domain.errors import SetupError


class SkillsPlugin:
    """Copies of skills in a private directory, unchanged for the whole run."""

    def __init__(self) -> None:
        """Copy nothing yet."""
        self._directories: dict[tuple[Path, ...], tempfile.TemporaryDirectory[str]] = {}

    def plugin(self, skills: tuple[Path, ...]) -> Path | None:
        """Return the plugin directory with these skills, or None without any.

        Raises:
            SetupError: A skill cannot be read.
        """
        if not skills:
            return None
        if skills not in self._directories:
            self._directories[skills] = _filled(skills)
        return Path(self._directories[skills].name)

    def close(self) -> None:
        """Remove the copies."""
        for directory in self._directories.values():
            directory.cleanup()
        self._directories.clear()


def _filled(skills: tuple[Path, ...]) -> "tempfile.TemporaryDirectory[str]":
    try:
        directory = tempfile.TemporaryDirectory(prefix="ralph-skills-")
    except OSError as error:
        message = f"No directory for the skills can be made: {error}"
        raise SetupError(
            message, "Free some space in the directory for temporary files."
        ) from error
    root = Path(directory.name)
    try:
        (root / ".claude-plugin").mkdir()
        about = root / ".claude-plugin" / "plugin.json"
        about.write_text(json.dumps({"name": OWN_SERVER}), encoding="utf-8")
        for skill in skills:
            shutil.copytree(skill, root / "skills" / skill.name)
    except (OSError, shutil.Error) as error:
        directory.cleanup()
        message = f"A skill cannot be copied: {error}"
        raise SetupError(message, "Make its directory readable.") from error
    return directory

"""Import the settings of another loop: what they mean here, what is left out, which commands come with them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ralph_tui.config.edit import with_setting
from ralph_tui.config.foreign_config import (
    ForeignConfig,
    ForeignForm,
    LeftKey,
    form_of,
    parse_foreign,
)
from ralph_tui.config.hybrid_settings import translate_hybrid
from ralph_tui.config.load import COMMAND_LINE, load_settings
from ralph_tui.config.step_settings import WORK
from ralph_tui.config.template import yaml_value
from ralph_tui.config.wiggum_steps import translate_wiggum
from ralph_tui.config.yaml_reader import parse_entries, read_text
from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.run.steps import digest_of
from ralph_tui.engine.control.step_records import step_text
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.text_files import inside, write_text

_NOWHERE = Path("/nonexistent/ralph")
"""A project without settings, against which single values are checked."""

KEPT_AS = "config.yaml.imported"
"""Keeps the file of another loop that stood in the place of ralph's settings."""


class ImportedSetting(Model):
    """A setting that would be written."""

    key: str
    value: str
    """As it would stand in the file."""
    was: str = ""
    """What the file says now; empty where it says nothing."""


class ConfigPreview(Model):
    """What an import would do."""

    source: str
    form: ForeignForm
    settings: tuple[ImportedSetting, ...]
    commands: dict[str, str]
    left_out: tuple[LeftKey, ...]
    done_steps: tuple[str, ...]
    """Steps that the other loop had done once."""
    remarks: tuple[str, ...]


class ConfigImport:
    """Reads one file of another loop, shows what it means, and writes it into the project's settings."""

    def __init__(self, project: Project, source: Path) -> None:
        """Read the file; nothing is written yet.

        Raises:
            ConfigError: It cannot be read, or it is nobody's settings that ralph knows.
        """
        self._project = project
        self._config = project.layout.config
        found = _translated(source)
        self._replaces = source.resolve() == self._config.resolve()
        """Whether the file is where ralph's own settings belong."""
        self._old = read_text(self._config)
        text = "" if self._replaces else self._old
        was = {entry.key: entry.value for entry in parse_entries(text, self._config)}
        left = list(found.left_out)
        settings = _checked(found.settings, left)
        self._steps = _checked_steps(found.steps, left)
        values: dict[str, object] = {**settings, **({"steps": self._steps} if self._steps else {})}
        shown = []
        for key, value in values.items():
            text = with_setting(text, key, value, self._config)
            before = yaml_value(was[key]) if key in was else ""
            if key != "steps":
                shown.append(ImportedSetting(key=key, value=yaml_value(value), was=before))
        for name, step in self._steps.items():
            shown.append(ImportedSetting(key=f"steps.{name}", value=yaml_value(step)))
        remarks = list(found.remarks)
        if self._steps and "steps" in was:
            remarks.append("The steps that the settings name now are replaced.")
        if self._replaces:
            remarks.append(f"The file is kept as .ralph/{KEPT_AS}.")
        self._text = _whole(text, self._config)
        self._done = tuple(
            name
            for name, markers in found.markers.items()
            if name in self._steps and any(map(self._is_there, markers))
        )
        commands = {
            place: command
            for place, command in found.commands.items()
            if not place.startswith("steps.") or place.removeprefix("steps.") in self._steps
        }
        self.preview = ConfigPreview(
            source=str(source),
            form=found.form,
            settings=tuple(shown),
            commands=commands,
            left_out=tuple(left),
            done_steps=self._done,
            remarks=tuple(remarks),
        )

    def _is_there(self, marker: str) -> bool:
        path = inside(self._project.root, self._project.root / marker)
        return path is not None and path.is_file()

    def write(self) -> None:
        """Write the settings, and note which steps were done.

        Raises:
            ConfigError: The settings were changed since they were read.
            StoreError: They cannot be written.
        """
        if read_text(self._config) != self._old:
            raise ConfigError(
                f"{self._config} was changed meanwhile, so nothing was written.",
                "Import again to see what would change now.",
            )
        if self._replaces:
            write_text(self._config.with_name(KEPT_AS), self._old)
        self._project.write_config(self._text)
        if not self._done:
            return
        settings = load_settings(self._project.root).steps
        digests = {name: digest_of(step_text(self._project, settings[name])) for name in self._done}

        def change(docs: Documents) -> Documents:
            log = docs.steps
            for name, digest in digests.items():
                log = log.done_once(name, digest, datetime.now(UTC))
            return docs.replacing(steps=log)

        self._project.transact(change)


def _translated(source: Path) -> ForeignConfig:
    """Return what a file means here.

    Raises:
        ConfigError: It cannot be read, or it is nobody's settings that ralph knows.
    """
    if not source.exists():
        raise ConfigError(
            f"There is no file {source}.",
            "Name Wiggum's default.json or Ralph Hybrid's config.yaml.",
        )
    value, lines = parse_foreign(read_text(source), source)
    form = form_of(value)
    if form is None or not isinstance(value, Mapping):
        raise ConfigError(
            f"{source} holds neither the steps of Wiggum nor the settings of Ralph Hybrid.",
            "`ralph import` reads plans; `ralph config show` lists ralph's own settings.",
        )
    return translate_wiggum(value) if form is ForeignForm.WIGGUM else translate_hybrid(value, lines)


def _checked(settings: Mapping[str, object], left: list[LeftKey]) -> dict[str, object]:
    """Return the settings whose values ralph accepts; add the others to what is left out."""
    good: dict[str, object] = {}
    for key, value in settings.items():
        if why := _refused({key: value}):
            left.append(LeftKey(key=key, reason=why.removeprefix(key).strip()))
        else:
            good[key] = value
    return good


def _checked_steps(
    steps: Mapping[str, Mapping[str, object]], left: list[LeftKey]
) -> dict[str, Mapping[str, object]]:
    """Return the steps that ralph accepts; add the others to what is left out."""
    good: dict[str, Mapping[str, object]] = {}
    for name, step in steps.items():
        if why := _refused({"steps": {WORK: {}, **({} if name == WORK else {name: step})}}):
            left.append(LeftKey(key=f"steps.{name}", reason=why))
        else:
            good[name] = step
    return good


def _refused(values: Mapping[str, object]) -> str:
    """Return why ralph refuses values; empty when it does not."""
    try:
        load_settings(_NOWHERE, overrides=values, environ={}, home=_NOWHERE)
    except ConfigError as error:
        return error.message.removeprefix(f"{COMMAND_LINE}: ").rstrip(".")
    return ""


def _whole(text: str, path: Path) -> str:
    """Return the text of the settings once all of it is valid together.

    Raises:
        ConfigError: It is not.
    """
    entries = {entry.key: entry.value for entry in parse_entries(text, path)}
    if why := _refused(entries):
        raise ConfigError(f"{path}: with what is imported, {why}.", "Nothing was written.")
    return text

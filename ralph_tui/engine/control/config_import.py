"""Import the settings of another loop: preview their translation, then write it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from ralph_tui.config.edit import with_setting
from ralph_tui.config.foreign_config import (
    ForeignConfig,
    ForeignTool,
    UntranslatedKey,
    tool_of,
    translate_hybrid,
    translate_wiggum,
)
from ralph_tui.config.load import COMMAND_LINE, load_settings
from ralph_tui.config.step_settings import WORK
from ralph_tui.config.template import yaml_value
from ralph_tui.config.yaml_reader import parse_entries, parse_yaml, read_text
from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.run.steps import digest_of
from ralph_tui.engine.control.step_records import step_text
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.text_files import inside, write_text

_NOWHERE = Path("/nonexistent/ralph")
"""A project without settings, in which single values are checked."""

KEPT_AS = "config.yaml.imported"
"""The name of a backup of another loop's file that was in the place of ralph's settings."""


class ImportedSetting(Model):
    """A setting that would be written."""

    key: str
    value: str
    """The value as it would be written in the file."""
    was: str = ""
    """The value in the file now; empty if there is none."""


class ConfigPreview(Model):
    """What an import would change."""

    source: str
    form: ForeignTool
    settings: tuple[ImportedSetting, ...]
    commands: dict[str, str]
    left_out: tuple[UntranslatedKey, ...]
    done_steps: tuple[str, ...]
    """One-time steps that the other loop has done already."""
    remarks: tuple[str, ...]


class ConfigImport:
    """Reads a settings file of another loop, and writes its translation into the project's settings."""

    def __init__(self, project: Project, source: Path) -> None:
        self._project = project
        self._config = project.layout.config
        found = _translated(source)
        self._replaces = source.resolve() == self._config.resolve()
        """Whether the file is where ralph's own settings belong."""
        self._old = read_text(self._config)
        text = "" if self._replaces else self._old
        was = {entry.key: entry.value for entry in parse_entries(text, self._config)}
        left, refused = list(found.left_out), dict(_refusals(found))
        for key, why in refused.items():
            left.append(UntranslatedKey(key=key, reason=why.removeprefix(f"{key} ")))
        settings = {key: value for key, value in found.settings.items() if key not in refused}
        self._steps = {n: step for n, step in found.steps.items() if f"steps.{n}" not in refused}
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
            remarks.append("The steps in the current settings will be replaced.")
        if self._replaces:
            remarks.append(f"The current settings file will be kept as .ralph/{KEPT_AS}.")
        self._text = _validated(text, self._config)
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
        if read_text(self._config) != self._old:
            raise ConfigError(
                f"{self._config} changed during the import. Nothing was written.",
                "Import again to see a new preview.",
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
    if not source.exists():
        raise ConfigError(
            f"There is no file {source}.",
            "Give the path of Wiggum's default.json or Ralph Hybrid's config.yaml.",
        )
    value, lines = parse_yaml(read_text(source), source)
    form = tool_of(value)
    if form is None or not isinstance(value, Mapping):
        raise ConfigError(
            f"{source} contains neither Wiggum steps nor Ralph Hybrid settings.",
            "To import a plan, use `ralph import`. To list ralph's own settings, use `ralph config show`.",
        )
    return translate_wiggum(value) if form is ForeignTool.WIGGUM else translate_hybrid(value, lines)


def _refusals(found: ForeignConfig) -> Iterator[tuple[str, str]]:
    tried: dict[str, dict[str, object]] = {
        key: {key: given} for key, given in found.settings.items()
    }
    tried |= {f"steps.{n}": {"steps": {WORK: {}, n: step}} for n, step in found.steps.items()}
    for key, values in tried.items():
        if why := _refusal(values):
            yield key, why


def _refusal(values: Mapping[str, object]) -> str:
    try:
        load_settings(_NOWHERE, overrides=values, environ={}, home=_NOWHERE)
    except ConfigError as error:
        return error.message.removeprefix(f"{COMMAND_LINE}: ").rstrip(".")
    return ""


def _validated(text: str, path: Path) -> str:
    entries = {entry.key: entry.value for entry in parse_entries(text, path)}
    if why := _refusal(entries):
        raise ConfigError(
            f"{path}: the imported settings are not valid: {why}.", "Nothing was written."
        )
    return text

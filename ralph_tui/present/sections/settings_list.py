"""List settings with their sources, and the limits that can be changed during a run. Pure functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ralph_tui.config.load import DEFAULT, EffectiveSetting
from ralph_tui.config.setting_names import topics
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Adjusted
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone


@dataclass(frozen=True, slots=True)
class LiveLimit:
    """A limit or model that can change while the loop runs.

    Attributes:
        name: The field of `Adjusted`.
        key: The corresponding setting.
        used: Returns how much of the limit is used, in words.
        when: When a change takes effect.
    """

    name: str
    key: str
    title: str
    used: Callable[[LoopView], str]
    when: str


def _nothing(_: LoopView) -> str:
    return ""


LIVE_LIMITS = (
    LiveLimit(
        "max_iterations", "phases.building.max_iterations", "iterations of this run",
        lambda view: f"{view.run_iterations} started", "at once",
    ),
    LiveLimit(
        "per_iteration", "safety.cost_limits.per_iteration", "dollars per iteration",
        lambda view: f"${view.costs.iteration:.2f} spent", "at once",
    ),
    LiveLimit(
        "per_session", "safety.cost_limits.per_session", "dollars this run",
        lambda view: f"${view.costs.session:.2f} spent", "at once",
    ),
    LiveLimit(
        "total", "safety.cost_limits.total", "dollars in total",
        lambda view: f"${view.costs.total:.2f} spent", "at once",
    ),
    LiveLimit("model", "models.primary", "model that builds", _nothing, "from the next session"),
    LiveLimit("planning_model", "models.planning", "model that plans", _nothing, "from the next session"),
)  # fmt: skip


def parsed(live: LiveLimit, typed: str) -> Adjusted:
    text = typed.strip().removeprefix("$")
    try:
        if live.name == "max_iterations":
            return Adjusted(max_iterations=int(text))
        if live.name in ("model", "planning_model"):
            (name,) = text.split()  # raises ValueError unless it is one word
            return Adjusted.model_validate({live.name: name})
        return Adjusted.model_validate({live.name: float(text)})
    except ValueError as error:  # includes pydantic's ValidationError
        words = {
            "max_iterations": "a whole number of at least 1",
            "model": "the name of a model, such as sonnet",
            "planning_model": "the name of a model, such as opus",
        }
        wanted = words.get(live.name, "an amount in dollars, such as 12.50")
        raise RalphError(
            f"{typed.strip() or 'Nothing'} is not {wanted}.", "Nothing was changed."
        ) from error


def live_blocks(
    settings: Mapping[str, EffectiveSetting],
    adjusted: Adjusted | None,
    view: LoopView,
    *,
    running: bool,
) -> list[LineBlock]:
    """Return the limits that can be changed now; without a running loop, the settings for the next run."""
    word = (
        "Enter changes a limit of the running loop. The settings file does not change."
        if running
        else "No loop is running. Enter changes the setting for the next run."
    )
    blocks = [LineBlock(None, [[Span(word, Tone.MUTED)], []])]
    for live in LIVE_LIMITS:
        changed = getattr(adjusted, live.name, None) if running else None
        setting = settings.get(live.key)
        value = str(changed) if changed is not None else setting.value if setting else ""
        line: list[Span] = [
            Span(live.title.ljust(26), Tone.TEXT),
            Span(value.ljust(12), Tone.ACCENT if changed is not None else Tone.TITLE),
        ]
        more: list[Line] = []
        if running:
            note = (
                f"changed here; configured: {setting.value}"
                if changed is not None and setting
                else f"applies {live.when}"
            )
            used = [Span(f"{live.used(view)}, ", Tone.INFO)] if live.used(view) else []
            more = [[Span("  "), *used, Span(note, Tone.MUTED)]]
        elif setting:
            line.append(Span(f"from {setting.source}", Tone.MUTED))
        blocks.append(LineBlock(live.name, [line, *more]))
    return blocks


def with_words(settings: Sequence[EffectiveSetting], words: str) -> list[EffectiveSetting]:
    """Return the settings that contain all the words in any shown text, ignoring case."""
    wanted = words.casefold().split()

    def text(setting: EffectiveSetting) -> str:
        topic = topics()[setting.key]
        return " ".join((*setting, topic.name, topic.about)).casefold()

    return [setting for setting in settings if all(word in text(setting) for word in wanted)]


def setting_blocks(settings: Sequence[EffectiveSetting]) -> list[LineBlock]:
    if not settings:
        return [LineBlock(None, [[Span("No setting matches.", Tone.MUTED)]])]
    blocks: list[LineBlock] = []
    last = None
    width = max(len(setting.key) for setting in settings)
    for setting in settings:
        topic = topics()[setting.key]
        if topic is not last:
            last = topic
            head: Line = [Span(topic.name, Tone.INFO), Span(f"   {topic.about}", Tone.MUTED)]
            blocks.append(LineBlock(None, [*([[]] if blocks else []), head]))
        own = setting.source != DEFAULT
        first: Line = [
            Span(f"{setting.key.ljust(width)}  ", Tone.TEXT),
            Span(setting.value or "(empty)", Tone.ACCENT if own else Tone.TITLE),
            Span(f"   {setting.source}", Tone.WARN if own else Tone.MUTED),
        ]
        blocks.append(LineBlock(setting.key, [first, [Span("  "), Span(setting.help, Tone.MUTED)]]))
    return blocks

"""Lists settings with their sources, and the limits that can change during a run. Pure functions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ralph_tui.config.load import DEFAULT, Effective
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
        key: The setting it represents.
        title: Its name on the screen.
        used: Says how much of it is used.
        when: From when a change counts.
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
        lambda view: f"{view.run_iterations} begun", "at once",
    ),
    LiveLimit(
        "per_iteration", "safety.cost_limits.per_iteration", "dollars an iteration",
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
    LiveLimit("model", "models.primary", "model that builds", _nothing, "from the next session on"),
    LiveLimit("planning_model", "models.planning", "model that plans", _nothing, "from the next session on"),
)  # fmt: skip


def parsed(live: LiveLimit, typed: str) -> Adjusted:
    """Read what was typed as a change.

    Raises:
        RalphError: The text is no such value.
    """
    text = typed.strip().removeprefix("$")
    try:
        if live.name == "max_iterations":
            return Adjusted(max_iterations=int(text))
        if live.name in ("model", "planning_model"):
            (name,) = text.split()  # one word; anything else is a ValueError
            return Adjusted.model_validate({live.name: name})
        return Adjusted.model_validate({live.name: float(text)})
    except ValueError as error:  # pydantic's is one, too
        words = {
            "max_iterations": "a whole number from 1 on",
            "model": "the name of a model, such as sonnet",
            "planning_model": "the name of a model, such as opus",
        }
        wanted = words.get(live.name, "an amount in dollars, such as 12.50")
        raise RalphError(
            f"{typed.strip() or 'Nothing'} is not {wanted}.", "Nothing was changed."
        ) from error


def live_blocks(
    settings: Mapping[str, Effective], adjusted: Adjusted | None, view: LoopView, *, running: bool
) -> list[LineBlock]:
    """List what can be changed now; without a loop, what the next run begins with.

    Args:
        settings: The effective settings, by key.
        adjusted: The changes of this run; None where there are none.
        view: The loop, for what is used of each limit.
        running: Whether a loop runs.
    """
    word = (
        "Enter changes a limit of the running loop; the settings stay as they are."
        if running
        else "No loop is running: Enter changes the setting, for the next run."
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
                else f"counts {live.when}"
            )
            used = [Span(f"{live.used(view)}, ", Tone.INFO)] if live.used(view) else []
            more = [[Span("  "), *used, Span(note, Tone.MUTED)]]
        elif setting:
            line.append(Span(f"from {setting.source}", Tone.MUTED))
        blocks.append(LineBlock(live.name, [line, *more]))
    return blocks


def with_words(settings: Sequence[Effective], words: str) -> list[Effective]:
    """Return the settings that have every one of the words, in any place that is shown and in any case."""
    wanted = words.casefold().split()

    def text(setting: Effective) -> str:
        topic = topics()[setting.key]
        return " ".join((*setting, topic.name, topic.about)).casefold()

    return [setting for setting in settings if all(word in text(setting) for word in wanted)]


def setting_blocks(settings: Sequence[Effective]) -> list[LineBlock]:
    """List settings under their topics; what is not the default is highlighted."""
    if not settings:
        return [LineBlock(None, [[Span("No setting has these words.", Tone.MUTED)]])]
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


def theme_blocks(names: Sequence[str], kept: str) -> list[LineBlock]:
    """List the themes, and name the one that was in use."""
    head: Line = [
        Span(
            "Move the cursor to see a theme. Enter keeps it; leaving the page restores the old one.",
            Tone.MUTED,
        )
    ]
    rows = [
        LineBlock(
            name, [[Span(name, Tone.TITLE), Span("   in use" if name == kept else "", Tone.OK)]]
        )
        for name in names
    ]
    return [LineBlock(None, [head, []]), *rows]

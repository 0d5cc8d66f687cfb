"""One key, one meaning: no key does one thing on one screen and another on the next."""

import importlib
import pkgutil
import re
from collections import defaultdict
from pathlib import Path

from textual.binding import BindingsMap
from textual.dom import DOMNode

import ralph_tui.tui
from ralph_tui.tui.commands.registry import COMMANDS, EVERY, PAGE_COMMANDS, PAGES
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.plan_review import PlanApproval
from ralph_tui.tui.screens.dialogs.question import PermissionDialog

MEANS = {
    **dict.fromkeys(("plan", "look", "turn"), "view"),
    **dict.fromkeys(("quit", "cancel", "leave", "close", "forget_words", "end"), "leave"),
    "decide(False)": "leave",
    **dict.fromkeys(("sift", "filter"), "filter"),
    **dict.fromkeys(("send", "save", "only_set_up"), "send"),
    **dict.fromkeys(("decide('approve')", "decide(True)", "agree"), "yes"),
    **dict.fromkeys(("decide('reject')", "replan"), "request_changes"),
    **dict.fromkeys(("search", "do_search"), "search"),
    "new": "add",
    "match(1)": "next_match",
    "match(-1)": "previous_match",
    "scroll('down')": "down",
    "scroll_down": "down",
    "cursor(1)": "down",
    "scroll('up')": "up",
    "scroll_up": "up",
    "cursor(-1)": "up",
    "scroll('home')": "first",
    "scroll_home": "first",
    "edge(-1)": "first",
    "scroll('end')": "last",
    "scroll_end": "last",
    "edge(1)": "last",
    **dict.fromkeys(("page(0.5)", "page_down", "scroll('page_down')", "turn(1)"), "half_down"),
    **dict.fromkeys(("page(-0.5)", "page_up", "scroll('page_up')", "turn(-1)"), "half_up"),
}
"""Actions that are the same to a person; any other means itself."""

ARROWS = frozenset({"up", "down", "left", "right", "h", "j", "k", "l", "tab", "shift+tab"})
"""They go on, within what is on the screen."""
CURSOR = frozenset({"enter", "space"})
"""They act on what is under the cursor."""
PLACES = frozenset("0123456789")
"""They go to the pane, page or answer with this number."""
EXCEPTIONS = ARROWS | CURSOR | PLACES | {"escape", "pageup", "pagedown", "ctrl+c"}


def meanings() -> dict[str, dict[str, set[str]]]:
    """Per key its meanings, and where each is."""
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for command in EVERY:
        for key in command.keys:
            found[key][MEANS.get(command.name, command.name)].add(command.area)
    for node in _nodes():
        for key, bindings in BindingsMap(node.__dict__.get("BINDINGS", ())).key_to_bindings.items():
            for binding in bindings:
                invoked = re.fullmatch(r"(?:app\.)?(?:invoke|change)\('(\w+)'\)", binding.action)
                action = invoked[1] if invoked else binding.action
                found[key][MEANS.get(action, action)].add(node.__name__)
    return found


def _nodes() -> set[type[DOMNode]]:
    for module in pkgutil.walk_packages(ralph_tui.tui.__path__, "ralph_tui.tui."):
        importlib.import_module(module.name)

    def below(kind: type[DOMNode]) -> set[type[DOMNode]]:
        return {kind}.union(*map(below, kind.__subclasses__()))

    return {kind for kind in below(DOMNode) if kind.__module__.startswith("ralph_tui.")}


def test_no_key_has_two_meanings() -> None:
    table = meanings()
    twice = {
        key: {meaning: sorted(places) for meaning, places in of.items()}
        for key, of in table.items()
        if len(of) > 1 and key not in EXCEPTIONS
    }
    assert twice == {}


def test_the_dashboard_has_about_25_keys() -> None:
    places = {*PAGES, "tasks", "activity", "status"}
    own = [c for c in COMMANDS if c.keys and not (c.name in places or c.area == "App")]
    assert len(own) <= 25


def test_a_command_without_a_key_is_in_a_menu_that_has_one() -> None:
    for commands in (COMMANDS, *(PAGE_COMMANDS[page] for page in PAGES)):
        known = {command.name: command for command in (*COMMANDS, *commands)}
        for command in commands:
            assert command.keys or known[command.within].keys, command.name


LETTER = re.compile(r'ConfirmChoice\(\s*"([^"]+)", "[^"]+", "(\w+)"')


def test_a_letter_of_a_menu_is_no_other_command() -> None:
    keys = {key: command.name for command in COMMANDS for key in command.keys}
    letters = [(command.letter, command.name) for command in COMMANDS if command.letter]
    handlers = Path(ralph_tui.tui.__path__[0])
    for path in handlers.rglob("*.py"):
        for letter, value in LETTER.findall(path.read_text(encoding="utf-8")):
            ends = letter == "x" and value in ("after", "now", "end")
            letters.append((letter, "stop" if ends else value))
    assert len(letters) > 20, "they were found"
    wrong = {
        letter: (name, keys[letter])
        for letter, name in letters
        if letter in keys and keys[letter] != name and letter not in EXCEPTIONS
    }
    assert wrong == {}


def test_no_dialog_that_opens_by_itself_grants_with_a_key_of_the_screen_beneath() -> None:
    beneath = {key for command in EVERY for key in command.keys} - CURSOR - ARROWS
    for dialog in (PermissionDialog, ApprovalDialog, PlanApproval):
        found = BindingsMap(dialog.__dict__.get("BINDINGS", ())).key_to_bindings
        decides = {k for k, of in found.items() if of[0].action.startswith(("decide", "pick"))}
        assert not beneath & decides, dialog.__name__

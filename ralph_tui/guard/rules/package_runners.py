"""Judges programs that fetch what they start: `npx`, `nix run`, `flatpak run`; and what serves a port."""

import re
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules, unreadable_part
from ralph_tui.guard.rules.assignments import judge_script_shell
from ralph_tui.guard.rules.inline_code import judge_possible_command
from ralph_tui.guard.rules.read_only import judge_other
from ralph_tui.guard.shell.nodes import Word, anything, literal

_NIX = Spec("fIE", long=names("--file --include --expr --inputs-from --override-input --option"))


def _npx(given: Invocation) -> None:
    spec = Spec("pc", long=names("--package --call"))
    for text in parse(given.arguments, spec).values("-c", "--call"):
        given.walker.shell(text, given)
    _brought(given, parse(given.arguments, spec, stop=True).operands)


def _brought(given: Invocation, words: Sequence[Word]) -> None:
    """Judge what is named; it comes from elsewhere, not from uv."""
    if words:
        given.walker.run(words, given, under_uv=True)


_EXECUTES = names("exec x dlx")


def _node_manager(given: Invocation) -> None:
    """Judge npm and its kin: `exec` runs what follows, `explore` and `run env` what follows `--`."""
    judge_script_shell(given)
    words = given.arguments
    verb = next((at for at in range(len(words)) if _is_verb(words, at)), len(words))
    named = [word.text for word in words[verb : verb + 2]]
    if named[:1] and named[0] in _EXECUTES:
        _npx(replace(given, words=words[verb:]))
    elif named[:1] == ["explore"] or named in (["run", "env"], ["run-script", "env"]):
        end = next((at for at, word in enumerate(words) if word.text == "--"), verb + 1)
        _brought(given, words[end + 1 :])
    elif given.program == "yarn" and named[:1] == ["run"]:  # a script, or any program there is
        _brought(given, words[verb + 1 :])


def _is_verb(words: Sequence[Word], at: int) -> bool:
    """Tell whether a word is the first that is neither an option nor possibly the value of one."""
    before = words[at - 1].text if at else ""
    if words[at].text.startswith("-"):
        return False
    return words[at].text in _EXECUTES or not before.startswith("-") or "=" in before


def _nix(given: Invocation) -> None:
    """Judge `nix run nixpkgs#git -- push`, and `nix develop -c COMMAND`."""
    judge_other(given)
    words = parse(given.arguments, _NIX, stop=True).operands
    if not words:
        return
    if not words[0].known:
        unreadable_part(given.shown, "Which nix command runs is not known")
    if words[0].text == "run":
        inner = parse(words[1:], _NIX, stop=True).operands
        arguments = [word for at, word in enumerate(inner) if at and (at > 1 or word.text != "--")]
        if inner:
            _brought(given, [literal(_packaged(inner[0].text)), *arguments])
    for at, word in enumerate(words):
        if word.text in ("-c", "--command"):
            _brought(given, words[at + 1 :])
            return


def _packaged(installable: str) -> str:
    """Return the program that a flake's package most likely starts."""
    name = re.split(r"[#.:/]", installable)[-1].partition("^")[0]
    return "git" if name.casefold() in _GITS else name or installable


_GITS = names("gitfull gitminimal gitsvn")


def _flatpak(given: Invocation) -> None:
    judge_other(given)
    words = parse(given.arguments, stop=True).operands
    if not words or words[0].text not in ("run", "enter"):
        return
    read = parse(words[1:], Spec(long=names("--command --branch --arch --cwd")), stop=True)
    named = read.values("--command")
    _brought(given, [*named, *read.operands[1:]] if named else read.operands)
    if words[0].text == "enter":
        _brought(given, read.operands[1:])


def _netcat(given: Invocation) -> None:
    judge_other(given)
    read = parse(given.arguments, Spec("ecpswiIqTxXVmMGKo", long=names("--exec --sh-exec")))
    if read.has("-e", "--exec", "--sh-exec"):
        unreadable_part(given.shown, "Whoever connects would steer the program")
    for text in read.values("-c"):
        given.walker.shell(text, given, anything())


_SOCAT_STARTS = re.compile(r"(?:exec|system|shell):([^,]*)", re.IGNORECASE)


def _socat(given: Invocation) -> None:
    judge_other(given)
    for word in given.arguments:
        if (started := _SOCAT_STARTS.match(word.text)) is not None:
            given.walker.shell(literal(started[1].strip("'\"")), given, anything())


_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")


def _cargo(given: Invocation) -> None:
    """Judge `cargo watch -s`, which gives a text to a shell, and settings that name what runs the program."""
    judge_other(given)
    for setting in parse(given.arguments, Spec(long=names("--config"))).values("--config"):
        for quoted in _QUOTED.finditer(setting.text):
            judge_possible_command(quoted[1], given)
    if [word.text for word in given.arguments[:1]] == ["watch"]:
        for text in parse(given.arguments, Spec("sxwdiBC")).values("-s", "--shell"):
            given.walker.shell(text, given)


RULES: Rules = MappingProxyType(
    {
        **dict.fromkeys(names("npx pnpx bunx"), _npx),
        **dict.fromkeys(names("npm yarn pnpm bun"), _node_manager),
        "nix": _nix,
        "cargo": _cargo,
        "flatpak": _flatpak,
        **dict.fromkeys(names("nc ncat netcat"), _netcat),
        "socat": _socat,
    }
)

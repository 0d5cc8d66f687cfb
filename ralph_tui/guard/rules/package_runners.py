"""Judges programs that fetch the program they start, such as `npx`, `nix run`, `flatpak run`, and netcat."""

import re
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules, refuse_unreadable
from ralph_tui.guard.rules.assignments import judge_script_shell
from ralph_tui.guard.rules.inline_code import judge_possible_command
from ralph_tui.guard.rules.read_only import check_unless_reader
from ralph_tui.guard.shell.nodes import Word, anything, literal

_NIX = Spec("fIE", long=names("--file --include --expr --inputs-from --override-input --option"))


def _npx(call: Invocation) -> None:
    spec = Spec("pc", long=names("--package --call"))
    for text in parse(call.arguments, spec).values("-c", "--call"):
        call.walker.shell(text, call)
    _judge_fetched(call, parse(call.arguments, spec, stop=True).operands)


def _judge_fetched(call: Invocation, words: Sequence[Word]) -> None:
    if words:
        call.walker.run(words, call, under_uv=True)


_EXECUTES = names("exec x dlx")


def _node_manager(call: Invocation) -> None:
    judge_script_shell(call)
    words = call.arguments
    verb = next((at for at in range(len(words)) if _is_verb(words, at)), len(words))
    named = [word.text for word in words[verb : verb + 2]]
    if named[:1] and named[0] in _EXECUTES:
        _npx(replace(call, words=words[verb:]))
    elif named[:1] == ["explore"] or named in (["run", "env"], ["run-script", "env"]):
        end = next((at for at, word in enumerate(words) if word.text == "--"), verb + 1)
        _judge_fetched(call, words[end + 1 :])
    elif call.program == "yarn" and named[:1] == ["run"]:  # a script, or any installed program
        _judge_fetched(call, words[verb + 1 :])


def _is_verb(words: Sequence[Word], at: int) -> bool:
    before = words[at - 1].text if at else ""
    if words[at].text.startswith("-"):
        return False
    return words[at].text in _EXECUTES or not before.startswith("-") or "=" in before


def _nix(call: Invocation) -> None:
    check_unless_reader(call)
    words = parse(call.arguments, _NIX, stop=True).operands
    if not words:
        return
    if not words[0].known:
        refuse_unreadable(call.shown, "The nix command is not known")
    if words[0].text == "run":
        inner = parse(words[1:], _NIX, stop=True).operands
        arguments = [word for at, word in enumerate(inner) if at and (at > 1 or word.text != "--")]
        if inner:
            _judge_fetched(call, [literal(_flake_program(inner[0].text)), *arguments])
    for at, word in enumerate(words):
        if word.text in ("-c", "--command"):
            _judge_fetched(call, words[at + 1 :])
            return


def _flake_program(installable: str) -> str:
    name = re.split(r"[#.:/]", installable)[-1].partition("^")[0]
    return "git" if name.casefold() in _GIT_PACKAGES else name or installable


_GIT_PACKAGES = names("gitfull gitminimal gitsvn")


def _flatpak(call: Invocation) -> None:
    check_unless_reader(call)
    words = parse(call.arguments, stop=True).operands
    if not words or words[0].text not in ("run", "enter"):
        return
    args = parse(words[1:], Spec(long=names("--command --branch --arch --cwd")), stop=True)
    named = args.values("--command")
    _judge_fetched(call, [*named, *args.operands[1:]] if named else args.operands)
    if words[0].text == "enter":
        _judge_fetched(call, args.operands[1:])


def _netcat(call: Invocation) -> None:
    check_unless_reader(call)
    args = parse(call.arguments, Spec("ecpswiIqTxXVmMGKo", long=names("--exec --sh-exec")))
    if args.has("-e", "--exec", "--sh-exec"):
        refuse_unreadable(call.shown, "Whoever connects would control the program")
    for text in args.values("-c"):
        call.walker.shell(text, call, anything())


_SOCAT_STARTS = re.compile(r"(?:exec|system|shell):([^,]*)", re.IGNORECASE)


def _socat(call: Invocation) -> None:
    check_unless_reader(call)
    for word in call.arguments:
        if (started := _SOCAT_STARTS.match(word.text)) is not None:
            call.walker.shell(literal(started[1].strip("'\"")), call, anything())


_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")


def _cargo(call: Invocation) -> None:
    check_unless_reader(call)
    for setting in parse(call.arguments, Spec(long=names("--config"))).values("--config"):
        for quoted in _QUOTED.finditer(setting.text):
            judge_possible_command(quoted[1], call)
    if [word.text for word in call.arguments[:1]] == ["watch"]:
        for text in parse(call.arguments, Spec("sxwdiBC")).values("-s", "--shell"):
            call.walker.shell(text, call)


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

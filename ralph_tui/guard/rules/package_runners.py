"""Judges what the package managers of node start."""

from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.shell.nodes import Word


def judge_npx(call: Invocation) -> None:
    spec = Spec("pc", long=names("--package --call"))
    for text in parse(call.arguments, spec).values("-c", "--call"):
        call.walker.shell(text, call)
    _judge_fetched(call, parse(call.arguments, spec, stop=True).operands)


def _judge_fetched(call: Invocation, words: Sequence[Word]) -> None:
    if words:
        call.walker.run(words, call, under_uv=True)


_EXECUTES = names("exec x dlx")


def judge_node_manager(call: Invocation) -> None:
    words = call.arguments
    verb = next((at for at in range(len(words)) if _is_verb(words, at)), len(words))
    named = [word.text for word in words[verb : verb + 2]]
    if named[:1] and named[0] in _EXECUTES:
        judge_npx(replace(call, words=words[verb:]))
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

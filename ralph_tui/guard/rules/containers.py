"""Refuses commands that remove containers, images and volumes, or give a container too much."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.programs import listed_words
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.package_managers import (
    is_manager,
    is_python,
    judge_module,
    refuse_manager,
)
from ralph_tui.guard.shell.nodes import Word, literal
from ralph_tui.guard.shell.parser import read_word

_BROAD_MOUNT = re.compile(
    r"[\"']?(?:/|/(?:home|root|etc|usr|var|bin|lib|opt|srv|boot|Users)/?|~/?|\$HOME/?|\$\{HOME\}/?|\.\./?)[\"']?:"
    r"(?![^:]*:(?:ro\b|[^:]*,ro\b))"
)


def judge_container(call: Invocation) -> None:
    words: Sequence[Word] = call.args.operands
    composes = call.program == "docker-compose"
    if composes or (words and words[0].text in ("container", "compose")):
        spec = Spec("fp", long=names("--file --project-name --profile --project-directory"))
        words = parse(call.arguments if composes else words[1:], spec, stop=True).operands
    if words and words[0].text in ("exec", "run"):
        _judge_in_container(words[1:], call)


def _judge_in_container(words: Sequence[Word], call: Invocation) -> None:
    call = replace(call, under_uv=True)
    for at, word in enumerate(words):
        mounts = word.text in ("-v", "--volume") and words[at + 1 : at + 2]
        if mounts:
            _check_mount(mounts[0], call)
        for source in _MOUNT_SOURCE.findall(word.text):
            call.dirs.check_guarded(literal(source), call.shown)
        if mounts and _BROAD_MOUNT.match(mounts[0].raw or mounts[0].text):
            reason = "This gives a container write access outside the project"
            instead = "If this is necessary, ask the person to do it."
            deny("destructive", call.shown, reason, instead)
    for at, word in enumerate(words):
        name = word.text.rpartition("/")[2]
        after = words[at + 1].text if at + 1 < len(words) else ""
        if name in ("git", "sh", "bash", "ash", "dash", "zsh"):
            call.walker.run(words[at:], call)
            return
        if is_manager(name) and after in listed_words("installs"):
            refuse_manager(name, words[at + 1 :], call)
        looks = any(word.text in listed_words("looks") for word in words[at + 3 : at + 4])
        if is_python(name) and after == "-m" and words[at + 2 :] and not looks:
            judge_module(words[at + 2], words[at + 3 :], call)


_MOUNT_SOURCE = re.compile(r"(?:^|,)(?:src|source)=([^,]+)(?!.*\breadonly\b|.*,ro\b)")


def _check_mount(mount: Word, call: Invocation) -> None:
    source, _, rest = mount.raw.strip("\"'").partition(":")
    if not rest.endswith((":ro", ",ro")) and names_guarded(source):
        call.dirs.check_guarded(read_word(source), call.shown)

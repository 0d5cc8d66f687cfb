"""Docker and its like: what removes containers, images and volumes, and what is started in one."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NoReturn

from ralph_tui.guard.guarded_names import names_guarded
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.packages import PYTHON, is_manager, judge_module, refuse_manager
from ralph_tui.guard.reader import read_word
from ralph_tui.guard.syntax import Word, literal
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation

_DOCKER_VALUES = Spec("cHl", long=names("--context --config --host --log-level --tlscacert"))
_DOCKER_GROUPS = names(
    "container image volume network system builder buildx compose context stack service secret"
    " config swarm node plugin manifest pod machine"
)
_DOCKER_REMOVALS = names("rm remove prune rmi")
_REMOVALS_IN = {
    "system": names("prune reset"),
    "machine": names("rm reset"),
    "swarm": names("leave"),
}
_STARTS = names("exec run")
_EVERYTHING = re.compile(
    r"[\"']?(?:/|/(?:home|root|etc|usr|var|bin|lib|opt|srv|boot|Users)/?|~/?|\$HOME/?|\$\{HOME\}/?|\.\./?)[\"']?:"
    r"(?![^:]*:(?:ro\b|[^:]*,ro\b))"
)
"""The machine, a home or a part of the system, shared to be written to."""
_INSTALLS = names("install uninstall add remove")
_LOOKS = names("list show freeze check --version")


def _docker(given: Invocation) -> None:
    read = parse(given.arguments, _DOCKER_VALUES, stop=True)
    _judge_docker(read.operands, given)


def _compose(given: Invocation) -> None:
    _judge_docker([literal("compose"), *given.arguments], given)


def _judge_docker(words: Sequence[Word], given: Invocation) -> None:
    if not words:
        return
    verb = words[0]
    if not verb.known:
        deny(
            "unreadable-command", given.shown, "Which docker command runs is not known", "Name it."
        )
    helps = any(word.text == "--help" for word in words)
    if verb.text in _DOCKER_REMOVALS and not helps:
        _refuse(given, "This removes containers, images, volumes or networks")
    if verb.text in _DOCKER_GROUPS:
        spec = Spec("fp", long=names("--file --project-name --profile --project-directory"))
        rest = parse(words[1:], spec, stop=True).operands
        if verb.text == "compose" and rest and rest[0].text == "down":
            if any(w.text in ("-v", "--volumes", "--rmi") for w in rest) or any(
                w.text.startswith("--rmi") for w in rest
            ):
                _refuse(given, "This removes volumes or images")
        elif rest and rest[0].text in _REMOVALS_IN.get(verb.text, _DOCKER_REMOVALS) and not helps:
            _refuse(given, "This removes containers, images, volumes or networks")
        elif verb.text in ("container", "compose") and rest and rest[0].text in _STARTS:
            _judge_in_container(rest[1:], given)
    elif verb.text in _STARTS:
        _judge_in_container(words[1:], given)


def _judge_in_container(words: Sequence[Word], given: Invocation) -> None:
    """The project is often mounted in a container: git, shells and installers count there too.

    What else runs in it has its own environment.
    """
    given = replace(given, under_uv=True)
    for at, word in enumerate(words):
        mounts = word.text in ("-v", "--volume") and words[at + 1 : at + 2]
        if mounts:
            _check_mount(mounts[0], given)
        for source in _MOUNT_SOURCE.findall(word.text):
            given.places.check_guarded(literal(source), given.shown)
        if mounts and _EVERYTHING.match(mounts[0].raw or mounts[0].text):
            _refuse(given, "This gives a container what is not the project's, to write to")
    for at, word in enumerate(words):
        name = word.text.rpartition("/")[2]
        after = words[at + 1].text if at + 1 < len(words) else ""
        if name in ("git", "sh", "bash", "ash", "dash", "zsh"):
            given.walker.run(words[at:], given)
            return
        if is_manager(name) and after in _INSTALLS:
            refuse_manager(name, words[at + 1 :], given.shown)
        looks = any(word.text in _LOOKS for word in words[at + 3 : at + 4])
        if PYTHON.fullmatch(name) and after == "-m" and words[at + 2 :] and not looks:
            judge_module(words[at + 2], words[at + 3 :], given)


_MOUNT_SOURCE = re.compile(r"(?:^|,)(?:src|source)=([^,]+)(?!.*\breadonly\b|.*,ro\b)")


def _check_mount(mount: Word, given: Invocation) -> None:
    """`SOURCE:TARGET[:ro]`, which gives a container a directory to write to."""
    source, _, rest = mount.raw.strip("\"'").partition(":")
    if not rest.endswith((":ro", ",ro")) and names_guarded(source):
        given.places.check_guarded(read_word(source), given.shown)


def _refuse(given: Invocation, reason: str) -> NoReturn:
    deny("destructive", given.shown, reason, "Ask the person to do this, if it must be done.")


CONTAINERS: Mapping[str, Callable[[Invocation], None]] = MappingProxyType(
    {"docker-compose": _compose, **dict.fromkeys(names("docker podman nerdctl"), _docker)}
)

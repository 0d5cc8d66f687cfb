"""Programs that only read may name guarded files; any other program not known here may not."""

from ralph_tui.guard.names import names
from ralph_tui.guard.walk import Invocation

READERS = names(
    "cat bat less more head tail grep egrep fgrep zgrep rg ag ack ls ll dir vdir exa eza jq yq wc"
    " diff colordiff sdiff cmp comm stat du df file tree test [ [[ sha1sum sha256sum sha512sum"
    " md5sum b2sum cksum sum xxd od hexdump strings cut sort uniq tr awk gawk mawk sed nl tac"
    " paste join fold fmt expand unexpand base64 base32 realpath readlink dirname basename echo"
    " printf cd pushd popd pwd column pr rev look which type command whereis man info help true"
    " false : exit return wait sleep seq date env printenv id whoami uname find fd fdfind locate"
    " xargs tee time watch lsof fuser zcat bzcat xzcat gzcat zless view python -m read set shopt"
    " export local declare typeset readonly unset let getopts shift break continue compgen"
    " complete hash jobs kill bg fg disown umask ulimit history test source . git uv gh yes expr pgrep pkill pidof killall tldr cheat apropos"
    " whatis dpkg rpm wc tput clear banner envsubst iconv sum printenv logname tty"
)
"""Programs that may name guarded files, because they only read, or are judged elsewhere."""
_EXCLUDES = ("exclude", "ignore", "omit", "skip", "not", "prune", "filter")


def judge_other(given: Invocation) -> None:
    """Any other program: guarded files are no operands of what is not known to only read."""
    if given.program in READERS:
        return
    given.places.check_here(given.shown)
    previous = ""
    for word in given.arguments:
        text = word.text
        excluded = previous.startswith("-") and any(e in previous for e in _EXCLUDES)
        previous = text
        if text.startswith("-"):
            name, equals, _ = text.partition("=")
            if equals and name.startswith("--out"):
                given.places.check_write(word.cut(len(name) + 1), given.shown)
            elif text.startswith("-o") and "/" not in given.program:
                given.places.check_guarded(word.cut(2), given.shown)
            continue
        if not excluded and "\n" not in text and " " not in text and _may_be_path(text):
            given.places.check_guarded(word, given.shown)


def _may_be_path(text: str) -> bool:
    """Whether a word could be a path rather than an address, a pattern or an assignment."""
    return not any(mark in text for mark in ("://", "*", "=", ":", "!"))

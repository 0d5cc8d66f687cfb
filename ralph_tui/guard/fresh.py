"""What a command writes to files that the same command may run afterwards."""

from collections.abc import Iterator

from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.syntax import Simple, Word

Content = Word | None
"""What stands in such a file; None for what came from the network."""

_WRITING = names("> >> >| &> &>>")
_CURL = Spec(
    "oXHdFAbcemuUxTY", long=names("--output --request --header --data --form --user-agent")
)
_WGET = Spec("OPaotTUQ", long=names("--output-document --directory-prefix --header --timeout"))
_FETCHED = {"curl": (_CURL, "-o", "--output"), "wget": (_WGET, "-O", "--output-document")}


def written_by(command: Simple, printed: Word) -> Iterator[tuple[Word, Content]]:
    """The files a command writes, with what it has `printed`, or fetched."""
    program = command.words[0].text.rpartition("/")[2] if command.words else ""
    fetched = None if program in _FETCHED else printed
    for redirect in command.redirects:
        if redirect.operator in _WRITING and redirect.descriptor in ("", "1"):
            yield redirect.target, fetched
    if program in _FETCHED:
        spec, *options = _FETCHED[program]
        yield from ((word, None) for word in parse(command.words[1:], spec).values(*options))
    elif program == "tee":
        yield from ((word, printed) for word in parse(command.words[1:]).operands)


def as_script(content: Word) -> Word | None:
    """The content as a text that a shell runs, found nowhere in what the agent sent; None for other languages."""
    first = content.text.partition("\n")[0]
    if first.startswith("#!") and not first.rstrip().endswith("sh") and "sh -" not in first:
        return None
    return Word(content.text, content.kinds, content.text)

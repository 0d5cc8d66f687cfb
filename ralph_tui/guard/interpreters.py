"""Code given to an interpreter on the command line or its standard input."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ralph_tui.guard import awk_sed
from ralph_tui.guard.git_commands import MUTATING
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.packages import PYTHON, judge_module, refuse_manager
from ralph_tui.guard.python_code import judge_python_code
from ralph_tui.guard.syntax import UNKNOWN, Word, literal
from ralph_tui.guard.verdicts import DeniedError
from ralph_tui.guard.walk import Invocation, unreadable_part

_STARTS_PROGRAMS = re.compile(
    r"system|exec|popen|spawn|shell|child_process|qx\b|`|%x|Open3|IO\.popen|proc_open|passthru|fork|command\("
    r"|\bopen\b[^;]*\|",
    re.IGNORECASE,
)
_JAVASCRIPT = names("node nodejs bun deno")
_JS_STARTS = re.compile(
    r"child_process|\bBun\b|\bDeno\b|execa|shelljs|\bzx\b|process\.binding"
    r"|\b(?:require|import)\s*\(\s*(?:[^'\"`\s]|['\"`][^)]*(?:\+|\$\{))"
)
"""What gives JavaScript a way to start programs, or may hide that it does."""
_STRINGS = re.compile(
    r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`"
    r"|(?:\bqx|\bqq?|\bqw|%x|%w)\s*[{(/|!\[<]([^})/|!\]>]*)[})/|!\]>]"
)
_BARE_START = re.compile(r"\b(?:spawn|exec|system)\s+([^;\n'\"`()\[\]{}]+)")
_STARTS_UNKNOWN = re.compile(
    r"child_process.*\b(?:exec|spawn)\w*\s*\(\s*(?:`[^`]*\$\{|(?!process\b)[a-z_]\w*\s*[,)+])"
    r"|\b(?:system|exec|popen|passthru|shell_exec)\b\s*\(?\s*[$@]\w",
    re.DOTALL,
)
"""Starting what a variable says."""
_LIST = re.compile(r"(['\"])([^'\"]*)\1((?:\s*,\s*(?:\{\s*\w+\s*:\s*)?\[?\s*(['\"])[^'\"]*\4)+)")
_ITEM = re.compile(r"(['\"])([^'\"]*)\1")
_WRITES = re.compile(
    r"writefile|appendfile|createwritestream|unlink|rmdir|rename|rm\b|rmsync|file_put_contents"
    r"|fopen|open|write|delete|fileutils|copy|chmod|remove|rmtree|replace|dump\(|truncate|symlink|-i\b",
    re.IGNORECASE,
)
_REMOVES = re.compile(r"rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rmdirSync|rimraf", re.IGNORECASE)
_GUARDED_NAME = re.compile(r"\.(ralph|git|claude)(?![\w-])", re.IGNORECASE)
_CODE_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "perl": ("-e", "-E"),
        "ruby": ("-e",),
        "node": ("-e", "--eval", "-p", "--print"),
        "nodejs": ("-e", "--eval", "-p", "--print"),
        "bun": ("-e", "--eval", "-p", "--print"),
        "php": ("-r",),
        "lua": ("-e",),
        "tclsh": ("-c",),
        "expect": ("-c",),
        "rscript": ("-e",),
        "osascript": ("-e",),
        "julia": ("-e", "-E", "--eval"),
        "groovy": ("-e",),
        "scala": ("-e",),
        "deno": (),
        "emacs": ("--eval", "--execute"),
    }
)
_SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        "perl": Spec("eEIMm", attached="iFCDdVx", digits="0l"),
        "ruby": Spec("eIrEC", attached="iFKx", digits="0TW"),
        "php": Spec("rdfBREF"),
        "node": Spec("eprC", long=names("--eval --print --require --import --input-type")),
        "nodejs": Spec("epr", long=names("--eval --print --require")),
    }
)
STDIN = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/(?:self|\$\$|\d+)/fd/\d+|-")
"""The names of standard input."""
_SHELL_ESCAPE = re.compile(r"\s*(?:\\!|\.shell\b|\.system\b|system\b|!)\s*")
_EDITORS = names("vi vim nvim view ex ed nano")

_INSTALLERS = names("get-pip.py get-poetry.py install-poetry.py ez_setup.py virtualenv.pyz")
_SETUP_VERBS = names("install develop easy_install bdist_egg")

Rule = Callable[[Invocation], None]


def interpreter(program: str) -> Rule | None:
    """The rule for a program that runs code, or None."""
    if PYTHON.fullmatch(program):
        return _python
    if program in _CODE_OPTIONS:
        return _generic
    return _RULES.get(program)


def _python(given: Invocation) -> None:
    words = list(given.arguments)
    while words and words[0].text.startswith("-") and words[0].text not in ("-", "--"):
        word = words.pop(0)
        if UNKNOWN in word.text.partition("c")[0]:
            unreadable_part(given.shown, "An expansion stands where python's options are")
        letter, value = _python_option(word, words)
        if letter == "c":
            return _python_text(value, given)
        if letter == "m":
            return judge_module(value, words, given)
    if words and words[0].text == "--":
        words.pop(0)
    return _python_file(words, given)


def _python_option(word: Word, following: list[Word]) -> tuple[str, Word]:
    """The first letter that takes a value, and the value, taken from `following` if need be."""
    if word.text.startswith("--"):
        return "", literal("")
    for at, letter in enumerate(word.text[1:], start=1):
        if letter in "cmWX":
            if at + 1 < len(word.text):
                return letter, word.cut(at + 1)
            return letter, following.pop(0) if following else literal("")
    return "", literal("")


def _python_file(words: list[Word], given: Invocation) -> None:
    if not words or STDIN.fullmatch(words[0].text):
        if given.feed is not None:
            _python_text(given.feed, given)
    elif (name := words[0].text.rpartition("/")[2]) in _INSTALLERS:
        refuse_manager(name, (), given.shown)
    elif name == "setup.py" and {w.text for w in words[1:]} & _SETUP_VERBS:
        refuse_manager(name, [literal("install")], given.shown)
    elif words[0].feeds or (words[0].text == UNKNOWN and words[0].may_split):
        unreadable_part(given.shown, "Python would run code that cannot be read here")


def _python_text(code: Word, given: Invocation) -> None:
    if code.text.strip(UNKNOWN + " \n") == "" and UNKNOWN in code.text:
        unreadable_part(given.shown, "Python would run code that cannot be read here")
    judge_python_code(code.text.replace(UNKNOWN, "_unknown_"), given)
    _judge_guarded_mention(code.text, given)


def _generic(given: Invocation) -> None:
    """Perl, ruby, node and others: every text in the code is judged as what it might run."""
    options = _CODE_OPTIONS[given.program]
    short = "".join(o[1] for o in options if len(o) == 2)
    long = frozenset(o for o in options if len(o) > 2)
    spec = _SPECS.get(given.program, Spec(short, long=long))
    read = parse(given.arguments, spec)
    codes = read.values(*options)
    if given.program == "deno" and [w.text for w in read.operands[:1]] == ["eval"]:
        codes = list(read.operands[1:2])
    if not codes and not read.operands and given.feed is not None:
        codes = [given.feed]
    if any(word.feeds for word in read.operands[:1]):
        unreadable_part(given.shown, "The interpreter would run the output of another command")
    for code in codes:
        judge_code(code.text, given)
    if given.program == "emacs":
        for word in read.operands:
            given.places.check_guarded(word, given.shown)
    in_place = given.program in ("perl", "ruby") and read.has("-i")
    if in_place:
        for word in read.operands:
            given.places.check_write(word, given.shown)


def judge_code(code: str, given: Invocation) -> None:
    """Judge code in a language that is not parsed here, by the texts it holds."""
    if code.strip() == UNKNOWN:
        unreadable_part(given.shown, "The interpreter would run code that cannot be read here")
    _judge_guarded_mention(code, given)
    if _REMOVES.search(code):
        for match in _STRINGS.finditer(code):
            path = next((g for g in match.groups() if g), "")
            if path.startswith(("/", "~", "..")):
                given.places.check_removal(literal(path), given.shown)
    starts = _JS_STARTS if given.program in _JAVASCRIPT else _STARTS_PROGRAMS
    if starts.search(code):
        _judge_starts(code, given)


def _judge_starts(code: str, given: Invocation) -> None:
    """Every text, and list of texts, in code that starts programs may be what it starts."""
    if _STARTS_UNKNOWN.search(code):
        unreadable_part(given.shown, "The code would start a program that is not known")
    for match in _BARE_START.finditer(code):
        judge_possible_command(match[1], given)
    for match in _LIST.finditer(code):
        rest = " ".join(item[1] for item in _ITEM.findall(match[3]))
        judge_possible_command(f"{match[2]} {rest}", given)
    texts = [next(g for g in m.groups() if g is not None) for m in _STRINGS.finditer(code)]
    for text in texts:
        judge_possible_command(text, given)
    if "git" in texts:  # its arguments may come by a variable
        for verb in MUTATING.intersection(texts):
            judge_possible_command(f"git {verb}", given)


def judge_possible_command(text: str, given: Invocation) -> None:
    """Refuse a text that would be refused as a command; what is no command is no matter."""
    plain = text.replace("\\n", "\n").replace("\\t", "\t").strip().strip("!|").strip()
    if not plain or UNKNOWN in plain:
        return
    try:
        given.walker.shell(literal(plain), given)
    except DeniedError as error:
        if error.verdict.rule != "unreadable-command":
            raise


def _judge_guarded_mention(code: str, given: Invocation) -> None:
    found = _GUARDED_NAME.search(code)
    if found and _WRITES.search(code) and not _only_reads(code):
        given.places.check_guarded(literal(found[0]), given.shown)


_READING_OPEN = re.compile(
    r"open\(\s*[^,()]*(?:,\s*['\"]r[bt]?['\"])?\s*(?:,\s*encoding=[^()]*)?\)"
)


def _only_reads(code: str) -> bool:
    """Whether every sign of writing is an `open` for reading."""
    return not _WRITES.search(_READING_OPEN.sub("", code).replace("sys.stdout.write", ""))


def _make(given: Invocation) -> None:
    spec = Spec("fCIjloW", attached="", long=names("--file --makefile --directory --eval"))
    read = parse(given.arguments, spec)
    for option in read.options:
        value = option.value
        if value is None:
            continue
        if len(option.name) > 2 and "--eval".startswith(option.name):
            for part in re.split(r"[;\n\t]", value.text):
                judge_possible_command(part.lstrip(" @-+"), given)
        elif option.name in ("-f", "--file", "--makefile"):
            if value.feeds:
                unreadable_part(given.shown, "make would run the output of another command")
            if STDIN.fullmatch(value.text) and given.feed is not None:
                _make_text(given.feed, given)
    for word in read.operands:
        name, equals, value_text = word.text.partition("=")
        if equals and UNKNOWN not in name:
            judge_possible_command(value_text.replace(UNKNOWN, ""), given)


def _make_text(text: Word, given: Invocation) -> None:
    if UNKNOWN in text.text:
        unreadable_part(given.shown, "make would run a text that cannot be read here")
    for line in text.text.splitlines():
        if line.startswith("\t") or ";" in line:
            judge_possible_command(line.rpartition(";")[2].lstrip("\t@-+"), given)


def _editor(given: Invocation) -> None:
    read = parse(given.arguments, Spec("cS", long=names("--cmd --eval")))
    texts = [o.value.text for o in read.options if o.value is not None]
    texts += [w.text for w in read.operands if w.text.startswith("+")]
    if given.feed is not None:
        texts.append(given.feed.text)
    for text in texts:
        for part in re.split(r"[|\n]", text):
            if "!" in part:
                judge_possible_command(part.partition("!")[2], given)
    for word in read.operands:
        if not word.text.startswith("+"):
            given.places.check_guarded(word, given.shown)


def _debugger(given: Invocation) -> None:
    """Gdb's own commands: `shell COMMAND` and `!COMMAND` start programs, `python` runs code."""
    texts = given.feed.text.splitlines() if given.feed is not None else []
    for option, value in itertools.pairwise(given.arguments):
        if option.text.lstrip("-") in ("ex", "iex", "eval-command", "init-eval-command", "o"):
            texts.append(value.text)
    end = next((i for i, w in enumerate(given.arguments) if w.text in ("--args", "--")), None)
    if end is not None and given.arguments[end + 1 :]:
        given.walker.run(given.arguments[end + 1 :], given)
    for text in texts:
        verb, _, rest = text.strip().replace("!", "shell ", 1).partition(" ")
        if verb in ("shell", "python", "platform"):
            judge_possible_command(rest.removeprefix("shell "), given)
            judge_code(rest, given)


def _prompt(given: Invocation) -> None:
    """A database's prompt, which takes `.shell` and the like for a shell's command."""
    texts = [word.text for word in given.arguments]
    texts += given.feed.text.splitlines() if given.feed is not None else []
    for text in texts:
        if (started := _SHELL_ESCAPE.match(text)) is not None:
            judge_possible_command(text[started.end() :], given)


def _program_files(files: Sequence[Word], given: Invocation) -> list[Word]:
    """The programs behind `-f` that are given in the same text."""
    if any(word.feeds for word in files):
        unreadable_part(given.shown, "The program is the output of another command")
    named = any(STDIN.fullmatch(word.text) for word in files)
    return [given.feed] if named and given.feed is not None else []


def _not_substituted(code: Word, given: Invocation) -> None:
    if code.scripts and not code.text.strip(UNKNOWN):
        unreadable_part(given.shown, "The program is the output of another command")


def _sed(given: Invocation) -> None:
    spec = Spec("efl", attached="i", long=names("--expression --file --line-length"))
    read = parse(given.arguments, spec)
    scripts = read.values("-e", "--expression")
    operands = list(read.operands)
    if not scripts and not read.values("-f", "--file") and operands:
        scripts = [operands.pop(0)]
    scripts = [*scripts, *_program_files(read.values("-f", "--file"), given)]
    for script in scripts:
        _not_substituted(script, given)
        for command in awk_sed.sed_commands(script.text):
            if UNKNOWN in command or not command:
                unreadable_part(given.shown, "sed would run a command that is not known")
            given.walker.shell(literal(command), given)
        for path in awk_sed.sed_writes(script.text):
            given.places.check_write(literal(path), given.shown)
    if read.has("-i", "--in-place"):
        for word in operands:
            if word.text:  # BSD's `sed -i ''` names no backup
                given.places.check_write(word, given.shown)


def _awk(given: Invocation) -> None:
    read = parse(given.arguments, Spec("Fvfiel", long=names("--assign --file --source --include")))
    operands = list(read.operands)
    codes = read.values("-e", "--source")
    if not codes and not read.values("-f", "--file") and operands:
        codes = [operands.pop(0)]
    codes = [*codes, *_program_files(read.values("-f", "--file"), given)]
    values = [w.text.partition("=")[2] for w in (*read.values("-v", "--assign"), *operands)]
    for code in codes:
        _not_substituted(code, given)
        if awk_sed.awk_writes_by_name(code.text):
            for text in values:
                given.places.check_guarded(literal(text), given.shown)
        if awk_sed.awk_starts_programs(code.text):
            for text in (*awk_sed.awk_strings(code.text), *values):
                judge_possible_command(text, given)
        for path in awk_sed.awk_writes(code.text):
            given.places.check_write(literal(path), given.shown)
    if any(v.text == "inplace" for v in read.values("-i", "--include")):
        for word in operands:
            given.places.check_write(word, given.shown)


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(names("make gmake"), _make),
        **dict.fromkeys(_EDITORS, _editor),
        **dict.fromkeys(names("gdb lldb"), _debugger),
        **dict.fromkeys(names("psql mysql mariadb sqlite3 ftp sftp mongo"), _prompt),
        **dict.fromkeys(names("sed gsed"), _sed),
        **dict.fromkeys(names("awk gawk mawk nawk original-awk"), _awk),
    }
)

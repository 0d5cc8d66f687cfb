"""Judges code passed to an interpreter, by its words and strings: what it would start, remove, install or write."""

import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.guard.core.arguments import names, parse
from ralph_tui.guard.core.paths import GUARDED_NAME
from ralph_tui.guard.core.programs import listed_words
from ralph_tui.guard.core.rule_context import Invocation, check_writes, refuse_unreadable
from ralph_tui.guard.core.verdicts import DeniedError, deny
from ralph_tui.guard.rules.git import MUTATING
from ralph_tui.guard.rules.package_managers import is_manager, judge_module, refuse_manager
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal
from ralph_tui.guard.shell.parser import read_word

COMMAND_TEXT = re.compile(
    r"(?:^\s*|[:;|&!({=]\s*|\b(?:spawn|shell|system|exec)\s+['\"]?|\b(?:system|exec|popen|spawn|shell)\w*\s*\(\s*['\"`])(?:[\w./~-]*/)?(git|pip3?|poetry|conda|pipenv)\s+([\w-]+)"
)
STDIN = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/(?:self|\$\$|\d+)/fd/\d+|-")

_STARTS = re.compile(
    r"(?<!['\"])\bsystem\s*[('\"$@%q`]|\bos\b.*system|System\.cmd|shell_exec|exec(?!ut)|os\.execute|\.execute\(\)|popen|spawn|shell|child_process|qx\b|`|%x|Open3|proc_open|passthru|fork"
    r"|command\(|\bopen\b[^;]*\||subprocess|getoutput|pexpect",
    re.IGNORECASE,
)
_JS_STARTS = re.compile(
    r"child_process|\bBun\b|\bDeno\b|execa|shelljs|\bzx\b|process\.binding"
    r"|\b(?:require|import)\s*\(\s*(?:[^'\"`\s]|['\"`][^)]*(?:\+|\$\{))"
)
"""JavaScript that can start programs, or may hide that it does."""
_AWK_STARTS = re.compile(r"system\s*\(|(?<!\|)\|(?!\|)")
_STARTS_IN: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        **dict.fromkeys(names("node nodejs bun deno"), _JS_STARTS),
        **dict.fromkeys(names("awk gawk mawk nawk original-awk"), _AWK_STARTS),
    }
)
_STARTS_UNKNOWN = re.compile(
    r"child_process.*\b(?:exec|spawn)\w*\s*\(\s*(?:`[^`]*\$\{|(?!process\b)[a-z_]\w*\s*[,)+])"
    r"|\b(?:system|exec|popen|passthru|shell_exec)\b\s*\(?\s*[$@]\w",
    re.DOTALL,
)
_JOIN = re.compile(r"(['\"])\s*\+\s*\1")
_PRINTED = re.compile(r"(?<!['\"])\b(?:print|puts|log|echo)\b\s*\(?\s*(?:'[^'\n]*'|\"[^\"\n]*\")")
_STRINGS = re.compile(
    r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|`([^`]*)`"
    r"|(?:\bqx|\bqq?|\bqw|%x|%w)\s*[{(/|!\[<]([^})/|!\]>]*)[})/|!\]>]"
)
_BARE_START = re.compile(r"\b(?:spawn|exec|system)\s+([^;\n'\"`()\[\]{}]+)")
_LIST = re.compile(r"(['\"])([^'\"]*)\1((?:\s*,\s*(?:\{\s*\w+\s*:\s*)?\[?\s*(['\"])[^'\"]*\4)+)")
_ITEM = re.compile(r"(['\"])([^'\"]*)\1")
_GIT_LIBRARY = re.compile(
    r"\b(?:simple-git|isomorphic-git|nodegit|rugged|libgit2|pygit2|dulwich)\b|(?:^|;)\s*(?:import|from) git\b",
    re.IGNORECASE | re.MULTILINE,
)
_LIBRARY_WRITES = re.compile(
    r"\.\s*(push|pull|fetch|commit|add|rm|mv|checkout\w*|merge\w*|rebase|reset|stash|tag|addTag"
    r"|branch|create\w*|delete\w*|write\w*|clone|init|addRemote|removeRemote|addConfig)\s*\("
)
_INSTALLER = re.compile(
    r"(?:\b(?:import|from)\s+|['\"]-m['\"],\s*['\"]|\b(?:run_module|run_path|__import__|import_module)\(\s*['\"](?:[^'\"]*/)?)"
    r"(pip|ensurepip|venv|virtualenv)\b"
)
_WRITES = re.compile(
    r"writefile|appendfile|createwritestream|unlink|rmdir|rename|rm\b|rmsync|file_put_contents"
    r"|fopen|open|write|delete|fileutils|copy|\bcp\w*\(|chmod|remove|rmtree|replace|dump\(|truncate|symlink|-i\b|mkdir|makedirs|touch|move|fileinput"
    r"|extract|set output",
    re.IGNORECASE,
)
_READING_OPEN = re.compile(
    r"(?:(?<!\.)|(?<=io\.))open\(\s*[^,()]*(?:,\s*['\"]r[bt]?['\"])?\s*(?:,\s*encoding=[^()]*)?\)"
    r"|(?<!io)\.open\(\s*(?:['\"]r[bt]?['\"])?,?\s*(?:encoding=[^()]*)?\)"
)
_REMOVES = re.compile(r"rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rmdirSync|rimraf", re.IGNORECASE)
_WHOLE_DIRECTORY = re.compile(
    r"\blistdir\(\s*(?:['\"]\.['\"])?\s*\)"
    r"|(?:rmtree|remove_tree|rm_rf|rm_r|rmSync|rmdirSync|rimraf(?:\.sync)?)\W{1,4}['\"]([.*/]+)['\"]"
)
_COMPARED = re.compile(
    r"['\"]\.\w+['\"]\s+(?:not\s+)?in\b|\b(?:not|if\b[^:\n]{1,80})\s+in\s*[\[({][^\])}]*[\])}]|[!=]=\s*['\"]\.\w+['\"]"
)


def judge_code(code: str, call: Invocation) -> None:
    """Judge code by its words and strings: what it would start, remove, install, and which guarded files it names.

    Code is not parsed, so it can hide what it does. The sandbox holds that.
    """
    if code.strip() == UNKNOWN:
        refuse_unreadable(call.shown, "The interpreter would run code that the guard cannot read")
    code = _JOIN.sub("", code).replace("sys.executable", "'python'")
    _judge_guarded_mention(code, call)
    _judge_removals(code, call)
    if (installer := _INSTALLER.search(code)) is not None:
        refuse_manager(installer[1], (), call)
    if _GIT_LIBRARY.search(code) and (verb := _LIBRARY_WRITES.search(code)):
        reason = f"`{verb[1]}` changes the repository"
        deny("git-read-only", call.shown, reason, "To read, use git status, git diff or git log.")
    if _STARTS_IN.get(call.program.rstrip("0123456789.-"), _STARTS).search(code):
        _judge_starts(_PRINTED.sub("", code), call)


def _judge_guarded_mention(code: str, call: Invocation) -> None:
    if not _WRITES.search(_READING_OPEN.sub("", code).replace("sys.stdout.write", "")):
        return
    if found := GUARDED_NAME.search(_COMPARED.sub("", code)):
        call.dirs.check_guarded(literal(found[0]), call.shown)
    if call.dirs.mentions_own_data(code):
        reason = "This code may change ralph's own data"
        deny("ralph-files", call.shown, reason, "Do not change ralph's data.")
    call.dirs.check_current_directory(call.shown)


def _judge_removals(code: str, call: Invocation) -> None:
    if not _REMOVES.search(code):
        return
    if whole := _WHOLE_DIRECTORY.search(code):
        call.dirs.check_removal(read_word(whole[1] or "."), call.shown)
    for path in _strings(code):
        if path.startswith(("/", "~", "..")):
            call.dirs.check_removal(literal(path), call.shown)


def _judge_starts(code: str, call: Invocation) -> None:
    if _STARTS_UNKNOWN.search(code):
        refuse_unreadable(call.shown, "The code would start an unknown program")
    for match in _BARE_START.finditer(code):
        judge_possible_command(match[1], call)
    for match in _LIST.finditer(code):
        items = [match[2], *(item[2] for item in _ITEM.finditer(match[3]))]
        judge_possible_command(shlex.join(items), call)
    texts = _strings(code)
    for text in texts if not _LIST.search(code) else filter(_BLANK.search, texts):
        judge_possible_command(text, call)
    if "git" in texts:  # its arguments may come from a variable
        for verb in MUTATING.intersection(texts):
            judge_possible_command(f"git {verb}", call)


_BLANK = re.compile(r"\s")


def _strings(code: str) -> list[str]:
    return [next(g for g in m.groups() if g is not None) for m in _STRINGS.finditer(code)]


def judge_possible_command(text: str, call: Invocation) -> None:
    """Refuse a text that would be refused as a command; ignore one that is not readable as a command."""
    plain = text.replace("\\n", "\n").replace("\\t", "\t").strip().strip("!|").strip()
    if not plain or UNKNOWN in plain:
        return
    try:
        call.walker.shell(literal(plain), call)
    except DeniedError as error:
        if error.verdict.rule != "unreadable-command":
            raise


def judge_python(call: Invocation) -> None:
    args = call.args
    if any(UNKNOWN in option.name for option in args.options):
        refuse_unreadable(call.shown, "An expansion takes the place of python's options")
    for option in args.options:
        if option.name == "-c":
            return judge_code(option.value.text if option.value else "", call)
        if option.name == "-m":
            module = option.value or literal("")
            at = call.arguments.index(option.word) + (2 if module in call.arguments else 1)
            return judge_module(module, call.arguments[at:], call)
    return _python_file(list(args.operands), call)


def _python_file(words: list[Word], call: Invocation) -> None:
    if not words or STDIN.fullmatch(words[0].text):
        if call.feed is not None:
            judge_code(call.feed.text, call)
    elif (name := words[0].text.rpartition("/")[2]) in listed_words("installers"):
        refuse_manager(name, (), call)
    elif (manager := _manager_file(words[0])) is not None:
        refuse_manager(manager, words[1:], call)
    elif name == "setup.py" and {w.text for w in words[1:]} & listed_words("setup-verbs"):
        refuse_manager(name, [literal("install")], call)
    elif words[0].feeds or (words[0].text == UNKNOWN and words[0].may_split):
        refuse_unreadable(call.shown, "Python would run code that the guard cannot read")


def _manager_file(file: Word) -> str | None:
    *above, last = file.text.split("/")
    if last == "__main__.py" and above:
        last = above[-1]
    name = re.sub(r"\.(?:pyz|zip|whl)$", "", last).casefold()
    return name if is_manager(name) else None


def judge_interpreter(call: Invocation) -> None:
    spec, options = call.listed.spec, call.listed.code or frozenset()
    # In node, `-pe` does not mean `-p` with the value `e`.
    words = [literal("-e") if word.text == "-pe" else word for word in call.arguments]
    args = parse(words if "-p" in options else call.arguments, spec)
    codes = args.values(*options)
    if not options and [w.text for w in args.operands[:1]] == ["eval"]:
        codes = list(args.operands[1:2])
    if not codes and not args.operands and call.feed is not None:
        codes = [call.feed]
    if any(word.feeds for word in args.operands[:1]):
        refuse_unreadable(call.shown, "The interpreter would run the output of another command")
    for code in codes:
        judge_code(code.text, call)


_AWK_WRITES = re.compile(r'>>?\s*"([^"]*)"')


def judge_sed(call: Invocation) -> None:
    _, files = _scripts_and_files(call)
    if call.args.has("-i", "--in-place"):
        check_writes(files, call)


def judge_awk(call: Invocation) -> None:
    scripts, files = _scripts_and_files(call)
    for script in scripts:
        judge_code(script.text, call)
        check_writes([literal(match[1]) for match in _AWK_WRITES.finditer(script.text)], call)
    if any(v.text == "inplace" for v in call.args.values("-i", "--include")):
        check_writes(files, call)


def _scripts_and_files(call: Invocation) -> tuple[list[Word], list[Word]]:
    operands, sources = list(call.args.operands), call.args.values("-f", "--file")
    scripts = call.args.values("-e", "--expression", "--source")
    if not scripts and not sources and operands:
        scripts = [operands.pop(0)]
    if any(w.feeds for w in sources) or any(
        w.scripts and not w.text.strip(UNKNOWN) for w in scripts
    ):
        refuse_unreadable(call.shown, "The script is the output of another command")
    if call.feed is not None and any(STDIN.fullmatch(word.text) for word in sources):
        scripts.append(call.feed)
    return scripts, operands

"""Judges code in languages that are not parsed here: every string in it is judged as a possible command."""

import itertools
import re
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules, refuse_unreadable
from ralph_tui.guard.core.verdicts import DeniedError, deny
from ralph_tui.guard.rules.copy_move import judge_copies_in_code
from ralph_tui.guard.rules.git import MUTATING
from ralph_tui.guard.rules.secrets import judge_memory_in_code, judge_secrets_in_code
from ralph_tui.guard.rules.signals import judge_signals_in_code
from ralph_tui.guard.shell.nodes import UNKNOWN, literal
from ralph_tui.guard.shell.parser import read_word

_STARTS_PROGRAMS = re.compile(
    r"system|exec|popen|spawn|shell|child_process|qx\b|`|%x|Open3|IO\.popen|proc_open|passthru|fork|command\("
    r"|\bopen\b[^;]*\|",
    re.IGNORECASE,
)
COMMAND_TEXT = re.compile(
    r"(?:^\s*|[:;|&!({=]\s*|\b(?:spawn|shell|system|exec)\s+['\"]?|\b(?:system|exec|popen|spawn|shell)\w*\s*\(\s*['\"`])(?:[\w./~-]*/)?(git|pip3?|poetry|conda|pipenv)\s+([\w-]+)"
)
_JAVASCRIPT = names("node nodejs bun deno")
_JS_STARTS = re.compile(
    r"child_process|\bBun\b|\bDeno\b|execa|shelljs|\bzx\b|process\.binding"
    r"|\b(?:require|import)\s*\(\s*(?:[^'\"`\s]|['\"`][^)]*(?:\+|\$\{))"
)
"""JavaScript that can start programs, or may hide that it does."""
_GIT_LIBRARY = re.compile(
    r"\b(?:simple-git|isomorphic-git|nodegit|rugged|libgit2)\b", re.IGNORECASE
)
_LIBRARY_WRITES = re.compile(
    r"\.\s*(push|pull|fetch|commit|add|rm|mv|checkout\w*|merge\w*|rebase|reset|stash|tag|addTag"
    r"|branch|create\w*|delete\w*|write\w*|clone|init|addRemote|removeRemote|addConfig)\s*\("
)
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
"""Starts a program named by a variable."""
_LIST = re.compile(r"(['\"])([^'\"]*)\1((?:\s*,\s*(?:\{\s*\w+\s*:\s*)?\[?\s*(['\"])[^'\"]*\4)+)")
_ITEM = re.compile(r"(['\"])([^'\"]*)\1")
_WRITES = re.compile(
    r"writefile|appendfile|createwritestream|unlink|rmdir|rename|rm\b|rmsync|file_put_contents"
    r"|fopen|open|write|delete|fileutils|copy|\bcp\w*\(|chmod|remove|rmtree|replace|dump\(|truncate|symlink|-i\b|mkdir|makedirs|touch|move|fileinput"
    r"|extract|set output",
    re.IGNORECASE,
)
_REMOVES = re.compile(r"rmtree|remove_tree|rm_rf|rm_r\b|rmSync|rmdirSync|rimraf", re.IGNORECASE)
_REMOVED = re.compile(
    r"(?:rmtree|remove_tree|rm_rf|rm_r|rmSync|rmdirSync|rimraf(?:\.sync)?)\W{1,4}['\"]([.*/]+)['\"]"
)
"""Removes a whole directory: `.`, `..`, `*`."""
_GUARDED_NAME = re.compile(r"\.(ralph|git|claude)(?![\w-])", re.IGNORECASE)
STDIN = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/(?:self|\$\$|\d+)/fd/\d+|-")
"""Names of standard input."""
_READING_OPEN = re.compile(
    r"(?:(?<!\.)|(?<=io\.))open\(\s*[^,()]*(?:,\s*['\"]r[bt]?['\"])?\s*(?:,\s*encoding=[^()]*)?\)"
    r"|(?<!io)\.open\(\s*(?:['\"]r[bt]?['\"])?,?\s*(?:encoding=[^()]*)?\)"
)


def judge_code(code: str, call: Invocation) -> None:
    """Judge code in a language that is not parsed here, by the strings in it."""
    if code.strip() == UNKNOWN:
        refuse_unreadable(call.shown, "The interpreter would run code that the guard cannot read")
    judge_any_code(code, call)
    for match in _REMOVED.finditer(code):
        call.dirs.check_removal(read_word(match[1]), call.shown)
    if _REMOVES.search(code):
        for match in _STRINGS.finditer(code):
            path = next((g for g in match.groups() if g), "")
            if path.startswith(("/", "~", "..")):
                call.dirs.check_removal(literal(path), call.shown)
    if _GIT_LIBRARY.search(code) and (verb := _LIBRARY_WRITES.search(code)):
        reason = f"`{verb[1]}` changes the repository"
        deny("git-read-only", call.shown, reason, "To read, use git status, git diff or git log.")
    script = call.program.rstrip("0123456789.-") in _JAVASCRIPT
    starts = _JS_STARTS if script else _STARTS_PROGRAMS
    if starts.search(code):
        _judge_starts(code, call)


def _judge_starts(code: str, call: Invocation) -> None:
    if _STARTS_UNKNOWN.search(code):
        refuse_unreadable(call.shown, "The code would start an unknown program")
    for match in _BARE_START.finditer(code):
        judge_possible_command(match[1], call)
    for match in _LIST.finditer(code):
        rest = " ".join(item[1] for item in _ITEM.findall(match[3]))
        judge_possible_command(f"{match[2]} {rest}", call)
    texts = [next(g for g in m.groups() if g is not None) for m in _STRINGS.finditer(code)]
    for text in texts:
        judge_possible_command(text, call)
    if "git" in texts:  # its arguments may come from a variable
        for verb in MUTATING.intersection(texts):
            judge_possible_command(f"git {verb}", call)


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


def judge_any_code(code: str, call: Invocation) -> None:
    judge_signals_in_code(code, call)
    judge_memory_in_code(code, call.shown)
    judge_secrets_in_code(code, call.shown)
    judge_copies_in_code(code, call.shown)
    # Refuse code that writes outside the project, by a full path or relative to the home directory.
    for match in _WRITTEN.finditer(code):
        call.dirs.check_write(literal(match[1] or match[2]), call.shown)
    found = _AT_HOME.search(code)
    if found and _WRITES.search(code) and not _only_reads(code):
        call.dirs.check_write(literal(f"~/{found[1]}"), call.shown)
    _judge_guarded_mention(code, call)


_AT_HOME = re.compile(
    r"(?:homedir\(\)|Dir\.home|(?:ENV|env|environ|getenv|get)[\[{(.]{1,2}['\"]?HOME['\"]?[\])}]{0,2}"
    r"|expand_path\(\s*['\"]~)[^;\n]{0,12}?/?(\.[\w.-]+)"
)
_WRITTEN = re.compile(
    r"\b(?:write_?file\w*|append_?file\w*|createwritestream|unlink\w*|file\.(?:write|delete)|io\.write"
    r"|file_put_contents|mkdir\w*|rename\w*|rm\w*)\s*\(?\s*['\"]([~/][^'\"]*)['\"]"
    r"|open[^;\n]{0,20}['\"]\s*>>?\s*['\"]?,?\s*['\"]?([~/][^'\"]*)['\"]",
    re.IGNORECASE,
)


def _judge_guarded_mention(code: str, call: Invocation) -> None:
    """Refuse code that both writes files and names ralph's, git's or the CLI's own files."""
    found = _GUARDED_NAME.search(code)
    if _WRITES.search(code) and not _only_reads(code):
        if found:
            call.dirs.check_guarded(literal(found[0]), call.shown)
        if call.dirs.mentions_own_data(code):
            reason = "This code may change ralph's own data"
            deny("ralph-files", call.shown, reason, "Do not change ralph's data.")
        call.dirs.check_current_directory(call.shown)


def _only_reads(code: str) -> bool:
    return not _WRITES.search(_READING_OPEN.sub("", code).replace("sys.stdout.write", ""))


_WRITES_GUARDED = re.compile(
    r"(?:\.(?:once|output|backup|save|excel|log|clone|archive|ar|dump|import)\b|\\(?:copy|[owg])\b|\bvacuum\s+into\b"
    r"|\battach\b|\bwritefile\b|\bcopy\b|\boutfile\b|\btee\b)[^;\n]{0,200}?"
    r"((?:[\w./~-]*/)?\.(?:ralph|git|claude)(?![\w-]))",
    re.IGNORECASE,
)
"""Commands of database prompts, and SQL, that write a guarded file."""
_SHELL_ESCAPE = re.compile(r"\s*(?:\\!|\.shell\b|\.system\b|system\b|!)\s*")


def _editor(call: Invocation) -> None:
    args = parse(call.arguments, Spec("cS", long=names("--cmd --eval")))
    texts = [o.value.text for o in args.options if o.value is not None]
    texts += [w.text for w in args.operands if w.text.startswith("+")]
    if call.feed is not None:
        texts.append(call.feed.text)
    for text in texts:
        for part in re.split(r"[|\n]", text):
            if "!" in part:
                judge_possible_command(part.partition("!")[2], call)
    for word in args.operands:
        if not word.text.startswith("+"):
            call.dirs.check_guarded(word, call.shown)


def _debugger(call: Invocation) -> None:
    texts = call.feed.text.splitlines() if call.feed is not None else []
    for option, value in itertools.pairwise(call.arguments):
        if option.text.lstrip("-") in ("ex", "iex", "eval-command", "init-eval-command", "o"):
            texts.append(value.text)
    end = next((i for i, w in enumerate(call.arguments) if w.text in ("--args", "--")), None)
    if end is not None and call.arguments[end + 1 :]:
        call.walker.run(call.arguments[end + 1 :], call)
    for text in texts:
        verb, _, rest = text.strip().replace("!", "shell ", 1).partition(" ")
        if verb in ("shell", "python", "platform"):
            judge_possible_command(rest.removeprefix("shell "), call)
            judge_code(rest, call)


def _prompt(call: Invocation) -> None:
    texts = [word.text for word in call.arguments]
    texts += call.feed.text.splitlines() if call.feed is not None else []
    for text in texts:
        if (named := _WRITES_GUARDED.search(text)) is not None:
            call.dirs.check_guarded(literal(named[1]), call.shown)
        if (started := _SHELL_ESCAPE.match(text)) is not None:
            judge_possible_command(text[started.end() :], call)


RULES: Rules = MappingProxyType(
    {
        **dict.fromkeys(names("vi vim nvim view ex ed nano"), _editor),
        **dict.fromkeys(names("gdb lldb"), _debugger),
        **dict.fromkeys(names("psql mysql mariadb sqlite3 ftp sftp mongo dc"), _prompt),
    }
)

"""Keep the trusted base, and find out what a claim changed besides the product.

The base is a tree of the snapshot store: the project when the plan was approved, moved by the product of accepted tasks,
by their new tests, by what a reviewer or the person agreed to, and by what the person changes while no agent works.
Changes of checks that nobody agreed to never enter it, so that no later task or run trusts them.
"""

import contextlib
import fnmatch
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.plan.plan import Task
from ralph_tui.engine.core.project_tree import is_source
from ralph_tui.engine.verification.evidence.check_inputs import CheckInputs
from ralph_tui.engine.verification.evidence.classify import (
    RUNNER_MODULES,
    TESTS,
    Classified,
    Context,
    Side,
    classify,
    is_lock,
    is_settings,
    is_test_file,
    judged_content,
    names_check,
)
from ralph_tui.engine.verification.evidence.installed_packages import (
    changed_packages,
    installed,
    settings_around,
    site_packages,
)
from ralph_tui.engine.verification.evidence.tests_inside import new_modules, with_new_tests
from ralph_tui.engine.verification.judge_tree import JudgeTree
from ralph_tui.store.backup.check_store import BASE, BaseRecord, CheckStore
from ralph_tui.store.export_records import followed_names
from ralph_tui.vcs.snapshots import Content, Difference, SnapshotStore

_REF = "refs/trusted/"
_NODE_LOCKS = ("package-lock.json", "yarn.lock", "pnpm-lock.yaml")


class ChangedFile(Model):
    """A file that differs between the trusted base and a claim."""

    path: str
    kind: Literal["changed", "deleted", "new"]
    side: Side
    reason: str
    """Why the file is on its side, as a part of a sentence."""

    @property
    def text(self) -> str:
        return f"{self.path} ({self.kind})"


class Inspection(Model):
    """What a claim changed since the trusted base, and the trees to judge it in."""

    base: str = ""
    claim: str = ""
    """The whole claimed tree; empty if there is none, so that checks run in place only."""
    changes: tuple[ChangedFile, ...] = ()
    judged: Mapping[str, Content | None] = {}
    """What the judge tree has in place of the claim, by path."""
    written: frozenset[str] = frozenset()
    """What changed since the claim was made, as by its checks."""
    product: Mapping[str, Content | None] = {}
    """The base's content of each product file that changed, with the tests inside it as claimed."""
    tests_inside: bool = False
    """Whether a product file has other tests inside than in the base."""
    allowed: tuple[str, ...] = ()
    """Changed files of the checks that the plan or the person allows to change."""
    originals: Callable[[], frozenset[str]] = frozenset
    """Returns all files of the checks in the base; the first call classifies every file."""
    added: tuple[str, ...] = ()
    """New tests of earlier tasks: they bind later ones, but show nothing of them."""
    bound: Mapping[str, Content] = {}
    """Changed test files as an earlier task left them, which may have added tests to them."""
    packages: Mapping[str, str] = {}
    """What was installed when the claim was judged."""
    faults: tuple[str, ...] = ()
    trouble: str = ""
    """Why there is no trusted base."""

    @property
    def checks(self) -> tuple[ChangedFile, ...]:
        return tuple(c for c in self.changes if c.side is Side.CHECK and c.path not in self.allowed)

    @property
    def held_back(self) -> tuple[str, ...]:
        """The changed files that the judge tree does not have as claimed; those that a check wrote, if there are no others."""
        held = tuple(change.path for change in self.changes if change.path in self.judged)
        return tuple(path for path in held if path not in self.written) or held

    @property
    def not_allowed(self) -> tuple[ChangedFile, ...]:
        return tuple(c for c in self.checks if not self.only_adds(c))

    def may_be_work(self, path: str) -> bool:
        """Return whether `touches` of a task can name this changed file, unlike a test."""
        return any(c.path == path and not TESTS.fullmatch(c.reason) for c in self.changes)

    def is_product(self, path: str) -> bool:
        """Return whether this is a source that is no file of the checks, or that the claim changed as product."""
        return is_source(path) and (path in self.product or path not in self.originals())

    @staticmethod
    def only_adds(change: ChangedFile) -> bool:
        return change.kind == "new" and is_test_file(change.path)


class MadeByChecks:
    """The files that came up while checks ran. Such a file is the work once something else changes it.

    If the next checks write it again, it is no work after all. Every method blocks.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ever: set[str] = set()
        self._last = ""
        self.paths: set[str] = set()
        self.locks: set[str] = set()
        """Files that keep versions of packages, which are no work in any case."""
        self._outputs: set[str] = set()
        self.others: set[str] = set()
        """What git ignores and something else wrote before these checks, in this run."""

    def before(self, tree: JudgeTree) -> str:
        """Return the tree of the project before checks run, empty without one."""
        if now := _taken(tree):
            changed = [one.path for one in tree.store.differences(self._last or now, now)]
            tree.forget_bytecode(changed, tree.bytecode_here(), self._root)
            self.paths.difference_update(changed)
            self._last = now
            self.others = {*tree.written()} - self._outputs
        return now

    def after(self, tree: JudgeTree, before: str) -> None:
        if before and (now := _taken(tree)):
            changed = tree.store.differences(before, now)
            self._outputs |= {*tree.written()} - self.others
            made = {one.path for one in changed if not one.old or one.path in self._ever}
            exports = {*followed_names(self._root)}
            self.locks |= {*filter(is_lock, made)}
            self._ever |= made - exports - self.locks
            self.paths |= made & self._ever
            self._last = now


def _taken(tree: JudgeTree) -> str:
    try:
        tree.start()
        return tree.store.take()
    except (SetupError, OSError):  # told when a claim is inspected
        return ""


class TrustedBase:
    """The trusted base of one project. Every method blocks."""

    def __init__(self, root: Path, store: SnapshotStore, *, feature: str = "") -> None:
        """Keep the base of the tasks of `feature` in `store`, outside the project."""
        self._root = root
        self.trees = store
        self.store = CheckStore(root)
        self.trouble = ""
        """Why there is no base, such as a missing git."""
        self.made_by_checks = MadeByChecks(root)
        self._feature = feature
        self._task_id = ""
        self.claimed = ""
        """The tree of the project when the claim was made: what its checks write is not the work."""

    @cached_property
    def _record(self) -> BaseRecord:
        return self.store.load(BASE, BaseRecord) or BaseRecord()

    def begin(
        self, task_id: str, commands: Iterable[str], task_text: str = "", agreed: Iterable[str] = ()
    ) -> None:
        """Record the state before an agent session, and trust what the person changed since the last one.

        Args:
            task_id: The task of the session; empty in a phase without tasks.
            agreed: The tasks that the person accepted without checks, and with them what they changed.
        """
        self._task_id = name = self._key(task_id)
        before = self._record
        try:
            now = self.trees.take()
            base = self._with_persons_changes(before, now)
            settled = [
                key for key in map(self._key, agreed) if key in before.ended and key in before.tasks
            ]
            base = self._with_tasks(base, before, settled, now)
            bound = self._still_bound(before, now)
        except (SetupError, OSError) as error:
            self.trouble = error.message if isinstance(error, SetupError) else str(error)
            return
        self.trouble = ""
        tasks = {n: tree for n, tree in before.tasks.items() if n not in settled}
        named = (*before.inputs, *CheckInputs(self._root, commands, task_text).named)
        self._save(
            before.model_copy(
                update={
                    "base": base,
                    "left": None,
                    "bound": bound,
                    "tasks": {name: now, **tasks} if name else tasks,
                    "ended": {n: tree for n, tree in before.ended.items() if n in tasks},
                    "inputs": tuple(dict.fromkeys(named)),
                    "packages": self._trusted_packages(agreed=bool(settled)),
                }
            )
        )

    def end(self) -> None:
        record = self._record
        with contextlib.suppress(SetupError, OSError):
            now = self.trees.take()
            ended = {**record.ended, self._task_id: now} if self._task_id else record.ended
            changed = {"left": now, "ended": ended, "packages_left": self._installed()}
            self._save(record.model_copy(update=changed))

    def inspect(self, commands: Iterable[str], task: Task | None = None) -> Inspection:
        record = self._record
        if self.trouble:
            return Inspection(trouble=self.trouble)
        try:
            claim = self.trees.take()
            base = self._with_persons_changes(record, claim)
            return self._compared(base, claim, tuple(commands), task)
        except SetupError as error:
            return Inspection(trouble=error.message)

    def written(self, inspection: Inspection, root: Path, since: int) -> frozenset[str]:
        """Return the files of the checks that were written below `root` since a time, whatever is in them now."""
        found = []
        for path in self.trees.contents(inspection.base):
            with contextlib.suppress(OSError):
                if os.lstat(f"{root}/{path}").st_ctime_ns > since:
                    found.append(path)
        return inspection.originals().intersection(found) if found else frozenset()

    def began(self, task_id: str) -> str:
        return self._record.tasks.get(self._name(task_id), "")

    def is_untouched(self, task_id: str, judged: Inspection) -> bool:
        """Return whether the project is as it was before the first attempt at a task; a lock that a tool makes does not count."""
        before = self.began(task_id)
        if not before or not judged.claim:
            return False
        written = {*followed_names(self._root)}  # by ralph itself
        return all(
            one.path in written or (one.old is None and is_lock(one.path))
            for one in self.trees.differences(before, judged.claim)
        )

    def accept(self, task_id: str, judged: Inspection, settled: Iterable[str] = ()) -> None:
        """Move the base by an accepted claim; the changed files of the checks that nobody settled stay untrusted.

        Args:
            judged: What the claim was when it was judged; what changed since is not trusted.
            settled: Changed files of the checks that somebody agreed to.
        """
        record = self._record
        if not record.base or not judged.claim:
            return
        name = self._name(task_id)
        claim = self.trees.contents(judged.claim)
        before = self.trees.contents(record.tasks[name]) if name in record.tasks else {}
        agreed = {*settled, *judged.allowed}
        moved: dict[str, Content | None] = {}
        added = dict.fromkeys(record.added)
        bound = {path: held for path, held in record.bound.items() if path not in agreed}
        for change in judged.changes:
            now = claim.get(change.path)
            own = before.get(change.path) != now
            if change.path in agreed:
                moved[change.path] = now
                continue
            if change.kind == "changed" and own and now and is_test_file(change.path):
                bound[change.path] = now
            if judged.only_adds(change) and own:
                moved[change.path] = now
                added[change.path] = None
                continue
            moved[change.path] = judged.judged.get(change.path, now)
        whole = all(claim.get(path) == held for path, held in moved.items())
        changed = {
            "base": judged.claim if whole else self.trees.tree_with(judged.base, moved),
            "tasks": {other: tree for other, tree in record.tasks.items() if other != name},
            "added": tuple(added),
            "bound": bound,
            "packages": {**judged.packages, **(record.packages or {})},
        }
        self._save(record.model_copy(update=changed))

    def original(self, path: str) -> bytes | None:
        held = self.trees.contents(self._record.base).get(path)
        return self.read(held) if held is not None else None

    def read(self, content: Content) -> bytes:
        return os.fsencode(self.trees.git("cat-file", "blob", content.object))

    # Installed packages.

    def _installed(self) -> dict[str, str]:
        return installed(self._root, self.trees.ignored()) | settings_around(self._root)

    def _trusted_packages(self, *, agreed: bool) -> dict[str, str]:
        """Return the trusted packages: what was there before an agent worked, and what the person changed or decided."""
        record, now = self._record, self._installed()
        known, left = record.packages, record.packages_left
        if known is None or record.left is None:
            return now if known is None else known
        if agreed:
            known = {**known, **left}
        persons = {path: one for path, one in now.items() if left.get(path) != one}
        removed = left.keys() - now.keys()
        return {**{p: one for p, one in known.items() if p not in removed}, **persons}

    # The state.

    def _key(self, task_id: str) -> str:
        return f"{self._feature}/{task_id}" if self._feature and task_id else task_id

    def _name(self, task_id: str) -> str:
        known = self._key(task_id)
        return known if known in self._record.tasks else self._task_id  # it may have been renamed

    def _save(self, record: BaseRecord) -> None:
        bound = {path: Content(*held) for path, held in record.bound.items()}
        trees = {"base": record.base, "left": record.left or ""}
        trees |= {"bound": self.trees.tree_with(record.base, bound)} if bound else {}
        ended = {f"{name} ended": tree for name, tree in record.ended.items()}
        for name, tree in {**record.tasks, **ended}.items():
            trees[f"task/{hashlib.sha256(name.encode()).hexdigest()[:32]}"] = tree
        lines = [f"update {_REF}{name} {tree}\n" for name, tree in trees.items() if tree]
        self.trees.git("update-ref", "--stdin", stdin="".join(lines))
        self.__dict__["_record"] = record
        self.store.save(BASE, record)

    def _with_tasks(self, base: str, record: BaseRecord, names: Iterable[str], now: str) -> str:
        """Return the base with what the attempts at these tasks changed and nobody changed since."""
        current = self.trees.contents(now)
        moved = {
            one.path: one.new
            for name in names
            for one in self.trees.differences(record.tasks[name], record.ended[name])
            if current.get(one.path) == one.new
        }
        return self.trees.tree_with(base, moved) if moved else base

    def _still_bound(self, record: BaseRecord, now: str) -> dict[str, tuple[str, str]]:
        """Return the test files of earlier tasks that the person has not changed since."""
        if not record.bound or not record.left or record.left == now:
            return record.bound
        edited = {one.path for one in self.trees.differences(record.left, now)}
        return {path: held for path, held in record.bound.items() if path not in edited}

    def _with_persons_changes(self, record: BaseRecord, now: str) -> str:
        if not record.base:
            return now
        if record.left is None or record.left == now:
            return record.base
        found = self.trees.differences(record.left, now)
        if any(one.old is not None for one in found):
            self.store.forget_outcomes()
        return self.trees.tree_with(record.base, {one.path: one.new for one in found})

    # Comparing.

    def _compared(
        self, base: str, claim: str, commands: tuple[str, ...], task: Task | None
    ) -> Inspection:
        text = task.description if task else ""
        inputs = CheckInputs(self._root, commands, text)
        context = self._context(base, inputs, task, claim)
        held = self.trees.contents(base)
        changes: list[ChangedFile] = []
        judged: dict[str, Content | None] = {}
        product: dict[str, Content | None] = {}
        tests_inside = False
        differences = self.trees.differences(base, claim)
        texts = self._read(differences)
        modules = _modules(differences, texts)
        since = self.trees.differences(self.claimed, claim) if self.claimed else ()
        written = {one.path: one.old for one in since}
        for one in differences:
            old, new = (texts.get(side.object) if side else None for side in (one.old, one.new))
            same_kind = bool(one.old and one.new and one.old.mode == one.new.mode)
            side, reason = classify(one.path, old, new, context, same_kind=same_kind)
            if one.old is None and one.path.endswith(".pyi") and one.path[:-1] in held:
                side, reason = Side.CHECK, f"hides {one.path[:-1]}"
            elif one.old is None and any(path.startswith(f"{one.path}/") for path in held):
                side, reason = Side.CHECK, "replaces a directory"
            changes.append(
                ChangedFile(
                    path=one.path,
                    kind="new" if one.old is None else "deleted" if one.new is None else "changed",
                    side=side,
                    reason=reason,
                )
            )
            content = judged_content(one.path, side, old, new)
            if side is Side.PRODUCT:
                product[one.path] = one.old
                tested = with_new_tests(one.path, old, new, modules)
                if (kept := one.old or one.new) and tested is not None and tested != old:
                    product[one.path] = self.trees.put(tested, kept.mode)
                    tests_inside = True
            if side is Side.PRODUCT and one.path in written:
                judged[one.path] = written[one.path]
            elif content is None:
                judged[one.path] = None
            elif content == old and one.old is not None and side is Side.CHECK:
                judged[one.path] = one.old
            elif content != new:
                kept = one.new or one.old
                judged[one.path] = self.trees.put(content, kept.mode if kept else "100644")
        locks = [
            (os.fsdecode(texts[one.old.object]), os.fsdecode(texts[one.new.object]))
            for one in differences
            if one.old and one.new and one.path.endswith(_NODE_LOCKS)
        ]
        allowed = self._allowed(task, changes)
        packages = self._installed() if task else {}
        return Inspection(
            base=base,
            claim=claim,
            changes=tuple(changes),
            judged={p: c for p, c in judged.items() if p not in allowed},
            written=frozenset(written),
            product=product,
            tests_inside=tests_inside,
            allowed=allowed,
            originals=cache(lambda: frozenset(p for p in held if context.is_check(p, b"x"))),
            added=tuple(path for path in self._record.added if path in held),
            bound=self._changed_bound(claim, {*judged} - {*allowed}),
            packages=packages,
            faults=changed_packages(self._root, known, packages, locks)
            if task and (known := self._record.packages) is not None
            else (),
        )

    def _changed_bound(self, claim: str, held_back: set[str]) -> dict[str, Content]:
        now = self.trees.contents(claim)
        bound = {path: Content(*held) for path, held in self._record.bound.items()}
        return {p: held for p, held in bound.items() if p in held_back and now.get(p) != held}

    def side_of(self, path: str, commands: tuple[str, ...], task: Task | None) -> Classified:
        """Return the side that a file of the project has when it changes."""
        inputs = CheckInputs(self._root, commands, task.description if task else "")
        data = (self._root / path).read_bytes()
        return classify(path, b"", data, self._context(self._record.base, inputs, task))

    def _context(
        self, base: str, inputs: CheckInputs, task: Task | None, claim: str = ""
    ) -> Context:
        parts = (part for path in self.trees.contents(base) for part in path.split("/")[:2])
        present = {part.partition(".")[0] for part in parts}
        installed = {
            entry.name.partition(".")[0]
            for site in site_packages(self._root)
            for entry in os.scandir(site)
        }
        known = {*self._record.inputs}
        # A program that a criterion runs and that did not exist is the work, unless its name says that it checks.
        started = {p for p in inputs.named if p in self.trees.contents(base) or names_check(p)}
        own = Context(inputs={*started, *known})

        def is_imported(path: str) -> bool:
            parts = PurePosixPath(path.partition(".")[0]).parts
            named = [re.escape(p) for p in parts if p not in {"__init__", "index"}]
            place, name = ["", *named][-2:]
            word = rf"(import|from|require).*{place}([./ ]| import .*){name}([^[:alnum:]_]|$)"
            tree = base if path in self.trees.contents(base) else claim
            return any(is_source(p) and not own.is_check(p) for p in self.found(tree, "-E", word))

        return replace(
            own,
            task_text=task.description if task else "",
            touches=task.touches if task else (),
            named_by=lambda path: self._named_by(base, path),
            hidden=(RUNNER_MODULES | sys.stdlib_module_names | installed) - present,
            imported=is_imported,
        )

    def _named_by(self, base: str, path: str) -> tuple[str, ...]:
        directory, _, name = path.rpartition("/")
        within = re.escape(directory.rpartition("/")[2])
        place = rf"(^|[^[:alnum:]_.-]){within}([\"'/]|$)"
        within_named = directory and not is_settings(path)
        for kind, word in (("-F", name), ("-E", place if within_named else "")):
            if word and (found := self.found(base, kind, word)):
                return tuple(one for one in found if one != path)
        return ()

    def found(self, tree: str, kind: str, word: str) -> tuple[str, ...]:
        with contextlib.suppress(SetupError):  # nothing was found
            found = self.trees.git("grep", "-zlI", kind, "-e", word, tree).split("\0")
            return tuple(path for one in found if (path := one.partition(":")[2]))
        return ()

    def _read(self, differences: Iterable[Difference]) -> dict[str, bytes]:
        wanted = sorted(
            {c.object for one in differences for c in (one.old, one.new) if c is not None}
        )
        if not wanted:
            return {}
        data = os.fsencode(self.trees.git("cat-file", "--batch", stdin="\n".join([*wanted, ""])))
        found, at = {}, 0
        while at < len(data):
            end = data.index(b"\n", at)
            name, _, size = data[at:end].decode().split()
            found[name] = data[end + 1 : end + 1 + int(size)]
            at = end + 2 + int(size)
        return found

    def _allowed(self, task: Task | None, changes: Iterable[ChangedFile]) -> tuple[str, ...]:
        may = task.may_change_checks if task else False
        return tuple(
            change.path
            for change in changes
            if change.side is Side.CHECK
            and (may is True or any(fnmatch.fnmatchcase(change.path, glob) for glob in may or ()))
        )


def _modules(differences: Iterable[Difference], texts: Mapping[str, bytes]) -> set[str]:
    found: set[str] = set()
    for path, *sides, _, _ in differences:
        found |= {*new_modules(path, *(os.fsdecode(texts[c.object]) if c else "" for c in sides))}
    return found

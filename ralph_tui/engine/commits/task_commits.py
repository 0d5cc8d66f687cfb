"""Commit the work of each finished task exactly once, even if ralph dies before the commit is recorded."""

import asyncio
import os
import re
import shlex
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ralph_tui.config.settings import GitSettings, Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError, SetupError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import Task, TaskCommit, TaskStatus
from ralph_tui.domain.project_state import WorkBranch
from ralph_tui.domain.sanitize import one_line, tail
from ralph_tui.engine.core.outcome import End, stopped_end
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.safety.command_sandbox import (
    CommandSandbox,
    run_by_others,
    set_aside_run_by_others,
)
from ralph_tui.engine.safety.repository_guard import RepositoryGuard
from ralph_tui.engine.verification.check_command import run_command
from ralph_tui.guard.repository.changes import OwnCommit
from ralph_tui.store.export_records import current_names
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Documents
from ralph_tui.vcs.branches import (
    Head,
    branch_name,
    check_out,
    push_line,
    read_head,
    require_clean,
    require_committable,
    require_identity,
    require_unprotected,
    valid_branch,
)
from ralph_tui.vcs.commits import CommitRequest, Committer, HookError, MadeCommit, filled
from ralph_tui.vcs.git import Git


@dataclass(frozen=True)
class WorkPlace:
    """Determines the branch of a run.

    Attributes:
        names: Texts to name a new branch after, best first.
        builds: Whether the run may build tasks; otherwise it changes nothing that could be committed.
        is_new_request: Whether the run begins with another request than the last one.
        sandboxed: Whether ralph's commands run in a sandbox.
    """

    git: GitSettings
    names: Sequence[str]
    builds: bool
    is_new_request: bool
    sandboxed: bool
    feature: str = ""
    """The branch of the current feature; empty for the plan without a name."""

    @property
    def is_wanted(self) -> bool:
        return self.builds and (self.git.commit != "off" or self.git.branch != "off")

    def require_ready(self, committer: Committer, docs: Documents) -> str:
        """Return the branch, after checking that ralph can check it out and commit to it; change nothing."""
        if not self.is_wanted:
            return ""
        head = require_committable(committer.git)
        name = self._branch(committer, docs, head)
        if self.git.commit != "off":
            require_unprotected(name, self.git.protected_branches)
            require_identity(committer.git)
            self._require_sandboxed_hooks(committer)
        if self.git.commit != "off" or name != head.branch:
            self._require_clean(committer, docs, head)
        return name

    def prepare(self, committer: Committer, docs: Documents) -> tuple[Head, str]:
        """Check out the branch of this run, which is never moved; return it and a notice if another one was left."""
        before = require_committable(committer.git)
        name = self._branch(committer, docs, before)
        made = check_out(
            committer.git, name, before, lambda: self._require_clean(committer, docs, before)
        )
        which = "the new branch" if made else "the branch"
        text = f"Working on {which} {name}. You were on {before.branch}."
        if name == before.branch:
            return before, ""
        return read_head(committer.git), one_line(text)

    def _branch(self, committer: Committer, docs: Documents, head: Head) -> str:
        if self.git.branch == "off":
            return head.branch
        if self.feature:
            return valid_branch(committer.git, self.feature)
        begun = docs.state.branch
        is_begun = begun is not None and begun.name.startswith(self.git.branch_prefix)
        if begun is not None and is_begun and not (self.is_new_request or docs.plan.is_finished):
            return begun.name
        return branch_name(committer.git, self.git.branch_prefix, *self.names)

    def _require_clean(self, committer: Committer, docs: Documents, head: Head) -> None:
        setting = "git.commit" if self.git.commit != "off" else "git.branch"
        root = committer.git.root
        specs = Layout(root, docs.feature).specs.relative_to(root).as_posix()
        names = (*docs.state.specs, *docs.state.chosen_specs)
        kept = (*current_names(root), *(f"{specs}/{name}" for name in names))
        require_clean(committer.git, head, worked_on(docs), setting, kept)

    def _require_sandboxed_hooks(self, committer: Committer) -> None:
        """Refuse commit hooks without a sandbox, because an agent may have written the code that they run."""
        hooks = () if self.git.hooks == "skip" or self.sandboxed else committer.hooks()
        if hooks:
            raise SetupError(
                f"The repository has the commit hook {hooks[0]}. Ralph runs hooks only in a sandbox, "
                "and no sandbox is available.",
                "Set git.hooks to skip, or run `ralph doctor` to see what the sandbox lacks.",
            )


def work_place(
    docs: Documents, settings: Settings, root: Path, *, asked: str, builds: bool, sandboxed: bool
) -> WorkPlace:
    """Return the object that determines the branch of a run.

    Args:
        asked: The request of a run that runs all phases; empty for a single phase, or to continue.
        builds: Whether the run may build tasks.
    """
    is_new = bool(asked) and asked != docs.state.request
    subject = asked if is_new else docs.plan.title or docs.state.request
    return WorkPlace(
        settings.git,
        names=(subject, settings.project.name, root.name),
        builds=builds,
        is_new_request=is_new,
        sandboxed=sandboxed,
        feature=docs.project.of(docs.feature).branch
        or f"{settings.git.branch_prefix}{docs.feature}"
        if docs.feature
        else "",
    )


def worked_on(docs: Documents) -> Head | None:
    """Return the branch of an unfinished task, whose uncommitted changes belong to that task; None without one."""
    branch = docs.state.branch
    has_open_work = any(
        (task.begun is not None and task.status is not TaskStatus.COMPLETE)
        or (task.commit is not None and task.commit.pending)
        for task in docs.plan.tasks
    )
    return Head(branch.name, branch.head) if branch and has_open_work else None


T = TypeVar("T")

SHORT_HASH = 10

_MAX_TASKS_IN_BODY = 200


@dataclass(frozen=True)
class HookSandbox:
    """Where the repository's hooks run.

    Attributes:
        environment: Returns the hooks' environment variables.
        limit_seconds: How long a hook may take.
    """

    sandbox: CommandSandbox
    environment: Callable[[], Mapping[str, str]]
    limit_seconds: float

    async def run(
        self, words: Sequence[str], directory: Path, variables: Mapping[str, str], writable: Path
    ) -> tuple[int | None, str]:
        command = shlex.join(words)
        if not self.sandbox.holds:
            return None, "The hook was not run, because the sandbox is not available."
        prefix = await asyncio.to_thread(self.sandbox.prefix, command, (writable,))
        environment = await asyncio.to_thread(self.environment)
        root = self.sandbox.root
        stood = await asyncio.to_thread(run_by_others, root)
        ended = await run_command(
            command,
            cwd=directory,
            environment={**environment, **variables},
            limit_seconds=self.limit_seconds,
            prefix=prefix,
        )
        if await asyncio.to_thread(set_aside_run_by_others, root, stood):
            return 1, f"{ended.tail}\nThe hook made what other programs run automatically."
        return ended.exit_code, ended.tail

    def filters(self) -> tuple[str, ...]:
        """Return git's settings that confine each filter which runs a file of the project, as an agent may have written it."""
        root = self.sandbox.root
        listed = Git(root).ask("config", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$")
        found = filter(None, os.fsdecode(listed.stdout).split("\0"))
        filters = [(name, command) for name, _, command in (one.partition("\n") for one in found)]
        top = Git(root).text("rev-parse", "--show-toplevel") if filters else ""

        def is_in_project(word: str) -> bool:
            # Not resolved, because a link in the project may lead to a program that reads more of it.
            path = Path(os.path.abspath(Path(top, word)))  # noqa: PTH100
            return path.is_relative_to(root) and path.is_file()

        return tuple(
            f"{name}={self._confined(command)}"
            for name, command in filters
            if any(map(is_in_project, re.split(r"[\s'\"=;|&]+", command)))
        )

    def _confined(self, command: str) -> str:
        prefix = self.sandbox.prefix(command)
        if not prefix:
            return command
        variables = [f"{name}={value}" for name, value in self.environment().items()]
        # Git replaces `%f` by a path in quotes.
        held = [*prefix, "env", "-i", *variables, "sh", "-c", command.replace("%f", '"$1"'), "sh"]
        return f"{shlex.join(held)} %f" if "%f" in command else shlex.join(held)


class TaskCommits:
    """Makes the commits of one run, and records on disk which ones are pending."""

    def __init__(
        self,
        project_state: ProjectState,
        place: WorkPlace,
        emit: EventSink,
        *,
        run_id: str,
        guard: RepositoryGuard,
        hooks: HookSandbox,
    ) -> None:
        """Prepare the commits of a run; nothing is done before `begin`. The run's id is for the trailers."""
        self._project_state = project_state
        self._place = place
        self._emit = emit
        self._run_id = run_id
        self._guard = guard
        self._commit_count = 0
        self.made_by_checks: Collection[str] = ()
        """New files that no commit takes."""
        self._loop: asyncio.AbstractEventLoop | None = None

        def run_hook(
            words: tuple[str, ...], directory: Path, variables: Mapping[str, str], writable: Path
        ) -> tuple[int | None, str]:
            return self._wait_for(hooks.run(words, directory, variables, writable))

        runs = run_hook if place.git.hooks == "run" else None
        self._committer = Committer(project_state.project.root, runs, hooks.filters)

    @property
    def _git(self) -> GitSettings:
        return self._place.git

    @property
    def _docs(self) -> Documents:
        return self._project_state.docs

    def pending_commit(self) -> TaskCommit | None:
        """Return the pending commit to record together with a task's completion; None if commits are off."""
        if self._git.commit == "off":
            return None
        number = self._docs.state.iteration_count
        return TaskCommit(pending=True, run=self._run_id, iteration=number)

    async def begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        if not self._place.is_wanted:
            return
        head, text = await asyncio.to_thread(self._place.prepare, self._committer, self._docs)

        def change(docs: Documents) -> Documents:
            known = docs.state.branch
            if known is not None and known.name == head.branch:
                return docs
            return docs.with_state(
                branch=WorkBranch(name=head.branch, base=head.commit, head=head.commit)
            )

        await self._project_state.transact(change)
        if text:
            self._emit(ev.Notice(text=text))

    async def finish_pending(self) -> End | None:
        """Make the pending commits of an earlier run; return an end if one fails."""
        if not self._place.is_wanted or self._git.commit == "off":
            return None
        left = self._docs.steps.under_way
        for task in self._pending():
            is_due = left is None or left.task_id != task.id  # otherwise its steps run first
            if is_due and (end := await self._commit_pending(task)) is not None:
                return end
        return None

    async def task_complete(self, task_id: str) -> End | None:
        task = self._docs.plan.task(task_id)
        if self._git.commit != "task" or task is None or task not in self._pending():
            return None
        # Checked first, so that ralph's commit cannot hide a commit by the agent.
        return await self._guard.check() or await self._commit_pending(task)

    async def _commit_pending(self, task: Task) -> End | None:
        """Commit a task's work, unless the last run made the commit but died before recording it."""
        intended = task.commit.hash if task.commit is not None else ""
        if await asyncio.to_thread(self._committer.is_made, intended):
            await self._record_commit((task.id,), intended)
            text = (
                f"{task.id} was already committed as {intended[:SHORT_HASH]} by the previous run."
            )
            self._emit(ev.Notice(text=text))
            return None
        return await self._commit((task,)) if self._git.commit == "task" else None

    async def all_complete(self) -> End | None:
        """Commit the whole feature once every task is complete; return an end if the commit fails."""
        pending = self._pending()
        if self._git.commit != "feature" or not pending or not self._docs.plan.is_finished:
            return None
        return await self._guard.check() or await self._commit(pending)

    async def report_commits(self) -> None:
        """Report the commits and the command to push them, since ralph never pushes."""
        branch = self._docs.state.branch
        if not self._commit_count or branch is None:
            return
        if left := sorted(self.made_by_checks):
            text = f"Checks created these files, so ralph did not commit them: {shortlist(left, 3)}. Commit them, or add them to .gitignore."
            self._emit(ev.Notice(text=one_line(text)))
        line = await asyncio.to_thread(push_line, self._committer.git, branch.name)
        how = f" To push: {line}" if line else ""
        text = f"{plural(self._commit_count, 'commit')} on {branch.name}.{how}"
        self._emit(ev.Notice(text=one_line(text)))

    def _pending(self) -> tuple[Task, ...]:
        tasks = self._docs.plan.tasks
        done = [task for task in tasks if task.status is TaskStatus.COMPLETE]
        return tuple(task for task in done if task.commit is not None and task.commit.pending)

    async def _commit(self, tasks: Sequence[Task]) -> End | None:
        ids = tuple(task.id for task in tasks)
        wanted = CommitRequest(
            message=self._message(tasks),
            trailers=self._trailers(tasks) if self._git.trailers else {},
            protected=self._git.protected_branches,
            left_out=self.made_by_checks,
            intend=lambda commit: self._wait_for(
                self._project_state.transact(lambda docs: _with_commits(docs, ids, hash=commit))
            ),
        )
        try:
            made = await asyncio.to_thread(self._committer.commit, wanted)
        except RalphError as error:
            return self._failed_end(ids, error)
        if made is None:
            await self._record_commit(ids, "")
            self._emit(
                ev.Notice(
                    text=f"{_task_names(ids)} changed nothing, so there is nothing to commit."
                )
            )
            return None
        self._commit_count += 1
        await self._guard.learn(OwnCommit(made.branch, made.commit, made.staged))
        await self._record_commit(ids, made.commit, made)
        self._emit(
            ev.WorkCommitted(
                task_ids=ids,
                iteration=tasks[-1].commit.iteration if tasks[-1].commit else 0,
                commit=made.commit,
                branch=made.branch,
                subject=one_line(made.subject),
                files=made.files,
                additions=made.additions,
                deletions=made.deletions,
            )
        )
        return None

    def _message(self, tasks: Sequence[Task]) -> str:
        if self._git.commit == "feature":
            names = (self._docs.plan.title, *self._place.names)
            title = next((found for name in names if (found := one_line(name, 100))), "")
            lines = [f"- {one_line(t.id, 80)}: {one_line(t.title, 100)}" for t in tasks]
            body = "\n".join(lines[:_MAX_TASKS_IN_BODY])
            return f"feat: {title or plural(len(tasks), 'task')}\n\n{body}"
        task = tasks[0]
        number = task.commit.iteration if task.commit is not None else 0
        values = {"task.id": task.id, "task.title": task.title, "task.group": task.group}
        return filled(self._git.message, {**values, "iteration": str(number)})

    def _trailers(self, tasks: Sequence[Task]) -> Mapping[str, str]:
        commit = tasks[-1].commit
        number = str(commit.iteration) if commit is not None and len(tasks) == 1 else ""
        return {
            "Ralph-Task": ", ".join(task.id for task in tasks),
            "Ralph-Iteration": number,
            "Ralph-Run": commit.run if commit is not None else self._run_id,
        }

    def _wait_for(self, work: Coroutine[None, None, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _record_commit(
        self, ids: tuple[str, ...], commit: str, made: MadeCommit | None = None
    ) -> None:
        def change(docs: Documents) -> Documents:
            branch = docs.state.branch
            name = made.branch if made is not None else (branch.name if branch and commit else "")
            settled = _with_commits(docs, ids, pending=False, hash=commit, branch=name)
            if branch is None or not commit:
                return settled
            moved = branch.model_copy(update={"head": commit, "commits": branch.commits + 1})
            return settled.with_state(branch=moved)

        await self._project_state.transact(change, "committed" if commit else "nothing to commit")

    def _failed_end(self, ids: tuple[str, ...], error: RalphError) -> End:
        if isinstance(error, HookError) and error.output.strip():
            self._emit(ev.Notice(level="error", text=f"Output of the hook:\n{tail(error.output)}"))
        verb = "is" if len(ids) == 1 else "are"
        reason = (
            f"{_task_names(ids)} {verb} complete but not committed: {error.message.rstrip('.')}"
        )
        return stopped_end(reason, error.hint)


def _with_commits(docs: Documents, ids: tuple[str, ...], **changes: object) -> Documents:
    plan = docs.plan
    for task_id in ids:
        task = plan.task(task_id)
        if task is not None and task.commit is not None:
            plan = plan.with_task(task_id, commit=task.commit.model_copy(update=changes))
    return docs.replacing(plan=plan)


def _task_names(ids: tuple[str, ...]) -> str:
    return ids[0] if len(ids) == 1 else plural(len(ids), "task")

"""Supervise an agent session: the guard, permissions, the end of a turn and what the model is reminded of."""

import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.extensions import ToolOutput
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.permissions import NETWORK, Ruling
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall, Verdict
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.ports import AfterTool, QuestionReply, Supervisor
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.decisions.permission_questions import CallPermissions
from ralph_tui.engine.limits.rate_limiter import RateLimiter
from ralph_tui.engine.prompts.prompts import reminder
from ralph_tui.engine.prompts.subagents import SubAgentRules
from ralph_tui.engine.safety.agents_md_guard import AgentsMdGuard
from ralph_tui.engine.safety.symlink_check import stop_if_astray
from ralph_tui.engine.session.task_tools import TaskTools
from ralph_tui.engine.session.task_tracker import TaskTracker
from ralph_tui.engine.verification.gate import receipt_text

WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
HANDOFF_TOOL = "mcp__ralph__ralph_update_memory"

TEST_COMMAND = re.compile(r"\b(?:pytest|unittest|tox|nox)\b")
TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*_test\.py$|conftest\.py$)")


class SessionSupervisor(Supervisor):
    """What the supervisors of all sessions share; a phase adds its tools and its end by overriding.

    Attributes:
        wrap_up: The request to wrap up, said with the next tool's result; then empty.
        ending: Why the turn is to end after the tool in use; empty while it may continue.
        handing_off: Whether the session is being summed up.
    """

    def __init__(self, run: RunContext, task_id: str = "") -> None:
        """Supervise a session of `run`; permissions are asked for the task, where there is one."""
        self.wrap_up = ""
        self.ending = ""
        self.handing_off = False
        self._run = run
        self._permissions = CallPermissions(run, task_id)
        self._sub_agents = SubAgentRules()
        self._rate_limiter = RateLimiter(run)

    # What a session has by default.

    @property
    def working(self) -> bool:
        """Whether there is still something to do in this session."""
        return True

    @property
    def taken_away(self) -> str:
        """Why the person's edit ends the work; empty while it continues."""
        return ""

    @property
    def unanswered(self) -> bool:
        """Whether the session cannot continue without an answer that nobody is there to give."""
        return False

    def mind_edits(self) -> None:
        """Tell what the person's edits lead to."""

    def own_rules(self, call: ToolCall) -> Verdict | None:
        """Judge a call before the guard does."""
        return self._sub_agents.review(call)

    def allowed(self, call: ToolCall) -> None:
        """Note a call that is about to run."""

    def denied_call(self, what: str) -> None:
        """Note `what` was denied, by the guard or by the person."""

    async def turn_end(self, call: ToolCall, output: ToolOutput) -> str:
        """Say why the turn ends after this call; empty when it continues."""
        del call, output
        return ""

    def notes(self, call: ToolCall) -> tuple[str, ...]:
        """Return what the model is told with the result of a call."""
        del call
        return ()

    # The port.

    @property
    def waiting_for_person(self) -> bool:
        """Whether permission is awaited, or the hour's requests are used up."""
        return self._permissions.waiting or self._rate_limiter.holding

    async def review_tool(self, call: ToolCall) -> Verdict:
        """Judge a call by the session's own rules, then by the guard and earlier rulings."""
        own = self.own_rules(call)
        verdict = own or self._permissions.known(await self._run.review(call))
        if verdict.decision == "deny":
            self._sub_agents.ended(call)
            self.denied_call(verdict.part or call.name)
        elif verdict.decision != "ask":
            await self._run.about_to_run(call)
            self.allowed(call)
        return verdict

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        """Ask the person about a call; their denial counts as one of the guard's does."""
        ruling = await self._permissions.permit(wanted)
        if ruling.allowed:
            if wanted.tool != NETWORK:  # that command runs already
                await self._run.about_to_run(call)
            self.allowed(call)
        else:
            self._sub_agents.ended(call)
            if wanted.tool != NETWORK:  # the command ran, and says itself what it lacked
                self.denied_call(", ".join(wanted.patterns) or wanted.tool)
        return ruling

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> AfterTool:
        """End the turn where there is a reason to; else pass on the wrap-up request, once, and the notes."""
        self._sub_agents.ended(call)
        run = self._run
        why = await stop_if_astray(run.project_state, run.emit, call, run.landed(call))
        why = why or await self.turn_end(call, output)
        if not why and call.agent_id is None and not self.handing_off:
            why = self.ending
        if why:
            return AfterTool(end_turn=True, note=why)
        await self._rate_limiter.hold(in_session=True)
        wrap_up, self.wrap_up = self.wrap_up, ""
        return AfterTool(note="\n".join(filter(None, (wrap_up, *self.notes(call)))))


class TaskSupervisor(SessionSupervisor):
    """Answers the agent while it works on one task."""

    def __init__(
        self, task: Task, run: RunContext, *, meter: UsageMeter, on_work: Callable[[], None]
    ) -> None:
        """Supervise work on `task`; `on_work` is called whenever the model uses a tool."""
        super().__init__(run, task.id)
        self.task = TaskTracker(task, run.project_state, run.emit)
        self.tools = TaskTools(
            self.task, run, meter, self._permissions.permit_check, self._permissions.permit
        )
        self.files: list[str] = []
        self.denied = ""
        self._ran_tests = False
        self._on_work = on_work
        self._reminded = False
        self._agents_file = AgentsMdGuard(run.project.layout.agents_md)

    @property
    def tests_only(self) -> bool:
        """Whether the session ran tests and wrote nothing but tests."""
        return self._ran_tests and all(TEST_FILE.search(path) for path in self.files)

    @property
    def working(self) -> bool:
        """Whether the task is still in progress."""
        return self.task.working

    @property
    def taken_away(self) -> str:
        """Why the person's edit ends the work; empty while it continues."""
        return self.task.taken_away

    def mind_edits(self) -> None:
        """Tell what an edit of the task leads to."""
        self.task.mind_edits()

    def own_rules(self, call: ToolCall) -> Verdict | None:
        """Deny everything but the summary during a hand-off, and edits that make AGENTS.md too long."""
        self._on_work()
        self.tools.note_work()
        if self.handing_off and call.name != HANDOFF_TOOL:
            return Verdict(
                decision="deny",
                rule="hand-off",
                reason="This session is being handed off",
                instead="Call ralph_update_memory with the summary, then stop.",
            )
        return super().own_rules(call) or self._agents_file.review(call)

    def allowed(self, call: ToolCall) -> None:
        """Remember which file a call writes, and whether it runs tests."""
        if call.name in WRITING_TOOLS:
            self._note_file(call)
        elif call.name == "Bash":
            command = str(call.input.get("command", ""))
            self._ran_tests = self._ran_tests or bool(TEST_COMMAND.search(command))

    def denied_call(self, what: str) -> None:
        """Remember the last denial; the breaker counts it."""
        self.denied = what

    async def turn_end(self, call: ToolCall, output: ToolOutput) -> str:
        """End the turn when the task is settled, or the summary of a hand-off is written."""
        del output
        if call.agent_id is not None:
            return ""
        if self.handing_off:
            done = call.name == HANDOFF_TOOL and self.tools.note is not None
        else:
            done = self.task.status in (TaskStatus.COMPLETE, TaskStatus.BLOCKED)
        return "The task is settled." if done else ""

    def notes(self, call: ToolCall) -> tuple[str, ...]:
        """Return what changed of the task, and a warning when AGENTS.md is too long."""
        news = "" if call.agent_id is not None or self.handing_off else self.task.news()
        return news, self._agents_file.note(call)

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Refuse: building asks nobody; what is unclear blocks the task."""
        del questions
        text = "Nobody is asked while building. Decide, or block the task with the reason."
        return QuestionReply(refused=text)

    async def on_stop(self, last_message: str) -> str | None:
        """Judge the claim that its final words make, if any; tell a model that stops without one, once."""
        if self.handing_off or not self.working:
            return None
        missing = await self.tools.claim_by_promise(last_message)
        if self.ending or not self.working:
            return None
        if missing:
            return missing
        if news := self.task.news():
            return news
        if self._reminded:
            return None
        self._reminded = True
        gate = self.tools.gate_result
        red_gate = receipt_text(gate) if gate is not None and self.tools.claim_refused else ""
        return reminder(self.task.task_id, red_gate)

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Answer a `ralph_*` tool."""
        return await self.tools.answer(name, arguments)

    def _note_file(self, call: ToolCall) -> None:
        path = str(call.input.get("file_path") or call.input.get("notebook_path") or "")
        root = str(self._run.project.root.resolve())
        shown = path.removeprefix(root).lstrip("/")
        if shown and shown not in self.files:
            self.files.append(shown)

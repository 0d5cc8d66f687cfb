"""Supervise a session that works on a task: the guard, the end of the turn and the reminders."""

import re
from collections.abc import Callable, Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.extensions import ToolOutput
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.permissions import NETWORK, Ruling
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall, Verdict
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.ports import AfterTool, QuestionReply
from ralph_tui.engine.core.usage_meter import Meter
from ralph_tui.engine.decisions.call_permissions import CallPermissions
from ralph_tui.engine.limits.rate_limiter import RateLimiter
from ralph_tui.engine.prompts.prompts import reminder
from ralph_tui.engine.prompts.subagents import SubAgentRules
from ralph_tui.engine.safety.agents_md_guard import AgentsFile
from ralph_tui.engine.safety.symlink_check import stop_if_astray
from ralph_tui.engine.session.task_tools import TaskTools
from ralph_tui.engine.verification.gate import receipt_text

WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
HANDOFF_TOOL = "mcp__ralph__ralph_update_memory"

TEST_COMMAND = re.compile(r"\b(?:pytest|unittest|tox|nox)\b")
TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*_test\.py$|conftest\.py$)")


def _command(call: ToolCall) -> str:
    return str(call.input.get("command", ""))


class TaskSupervisor:
    """Answers the agent while it works on one task (the engine's side of `Supervisor`)."""

    def __init__(
        self, task: Task, run: RunContext, *, meter: Meter, on_work: Callable[[], None]
    ) -> None:
        """Oversee work on `task`; `on_work` is called whenever the model uses a tool."""
        self._permissions = CallPermissions(run, task.id)
        self.work = TaskTools(
            task, run, meter, self._permissions.permit_check, self._permissions.permit
        )
        self.files: list[str] = []
        self.wrap_up = ""
        self.ending = ""
        self.handing_off = False
        self.denied = ""
        self._ran_tests = False
        self._run = run
        self._on_work = on_work
        self._reminded = False
        self._sub_agents = SubAgentRules()
        self._rate_limiter = RateLimiter(run)
        self._agents_file = AgentsFile(run.project_state.project.layout.agents_md)

    async def review_tool(self, call: ToolCall) -> Verdict:
        """The guard's verdict; during a hand-off only the summary may be written."""
        self._on_work()
        if self.handing_off and call.name != HANDOFF_TOOL:
            return Verdict(
                decision="deny",
                rule="hand-off",
                reason="This session is being handed off",
                instead="Call ralph_update_memory with the summary, then stop.",
            )
        own = self._sub_agents.review(call) or self._agents_file.review(call)
        verdict = own or self._permissions.known(await self._run.review(call))
        if verdict.decision == "deny":
            self._sub_agents.ended(call)
            self.denied = verdict.part or call.name
        elif verdict.decision != "ask":
            self._note(call)
        return verdict

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        """The person's ruling; a denial counts as one of the guard's does."""
        ruling = await self._permissions.permit(wanted)
        if ruling.allowed:
            self._run.may_write(call)
            self._note(call)
        else:
            self._sub_agents.ended(call)
            if wanted.tool != NETWORK:  # the command ran, and says itself what it lacked
                self.denied = ", ".join(wanted.patterns) or wanted.tool
        return ruling

    def _note(self, call: ToolCall) -> None:
        """Remember what the call is about to do."""
        if call.name in WRITING_TOOLS:
            self._note_file(call)
        elif call.name == "Bash":
            self._ran_tests = self._ran_tests or bool(TEST_COMMAND.search(_command(call)))

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> AfterTool:
        """End the turn when the task is settled; pass on the wrap-up request once."""
        del output
        self._sub_agents.ended(call)
        run = self._run
        astray = await stop_if_astray(run.project_state, run.emit, call, run.landed(call))
        if astray:
            return AfterTool(end_turn=True, note=astray)
        if call.agent_id is None and self._settled(call):
            return AfterTool(end_turn=True, note="The task is settled.")
        if call.agent_id is None and self.ending and not self.handing_off:
            return AfterTool(end_turn=True, note=self.ending)
        await self._rate_limiter.hold(in_session=True)
        note, self.wrap_up = self.wrap_up, ""
        news = "" if call.agent_id is not None or self.handing_off else self.work.news()
        return AfterTool(note="\n".join(filter(None, (note, news, self._agents_file.note(call)))))

    @property
    def tests_only(self) -> bool:
        """Whether the session ran tests and wrote nothing but tests."""
        return self._ran_tests and all(TEST_FILE.search(path) for path in self.files)

    @property
    def working(self) -> bool:
        """Whether the task is still in progress."""
        return self.work.working

    @property
    def taken_away(self) -> str:
        """Why the person's edit ends the work; empty while it goes on."""
        return self.work.taken_away

    @property
    def unanswered(self) -> bool:
        """Building asks no questions."""
        return False

    def mind_edits(self) -> None:
        """Tell what an edit of the task leads to."""
        self.work.mind_edits()

    @property
    def waiting_for_person(self) -> bool:
        """Whether permission is waited for, or the hour's requests are used up."""
        return self._permissions.waiting or self._rate_limiter.holding

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Building asks nobody: what is unclear blocks the task."""
        del questions
        text = "Nobody is asked while building. Decide, or block the task with the reason."
        return QuestionReply(refused=text)

    def _settled(self, call: ToolCall) -> bool:
        if self.handing_off:
            return call.name == HANDOFF_TOOL and self.work.note is not None
        return self.work.status in (TaskStatus.COMPLETE, TaskStatus.BLOCKED)

    async def on_stop(self, last_message: str) -> str | None:
        """Tell a model that stops without a claim what is missing, once."""
        del last_message
        if self.handing_off or self.ending or not self.working:
            return None
        if news := self.work.news():
            return news
        if self._reminded:
            return None
        self._reminded = True
        gate = self.work.gate_result
        red_gate = receipt_text(gate) if gate is not None and self.work.claim_refused else ""
        return reminder(self.work.task_id, red_gate)

    def _note_file(self, call: ToolCall) -> None:
        path = str(call.input.get("file_path") or call.input.get("notebook_path") or "")
        root = str(self._run.project_state.project.root.resolve())
        shown = path.removeprefix(root).lstrip("/")
        if shown and shown not in self.files:
            self.files.append(shown)

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Answer a `ralph_*` tool."""
        return await self.work.answer(name, arguments)

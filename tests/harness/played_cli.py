"""The Claude Code CLI's part played in the test's own process: no process of a second to start for each session.

It asks the model server, calls our hooks and runs the tools as the real one does. It knows no sandbox, no
sub-agents, no servers of the person's and no failures of the service. With RALPH_LONG=1 the real CLI plays.
"""

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import uuid
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    Message,
    PermissionResultAllow,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolPermissionContext,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from mcp.types import CallToolRequest, CallToolRequestParams, ListToolsRequest, TextContent

from ralph_tui.agent.process import PIPED_KEYS
from tests.demo.client import events, exchange_blocking

Json = dict[str, Any]
"""What the SDK and the Messages API pass around."""


class PlayedCli:
    """Stands in for `ClaudeSDKClient`."""

    def __init__(self, options: ClaudeAgentOptions) -> None:
        self._options = options
        self._session = str(uuid.uuid4())
        self._sent: list[Json] = []
        self._unread: list[tuple[str, str]] = []
        self._answered: list[str] = []
        self._out: asyncio.Queue[Message | Exception | None] = asyncio.Queue()
        self._turn: asyncio.Task[None] | None = None
        self._begun = False

    async def connect(self) -> None:
        """Need no process."""

    async def disconnect(self) -> None:
        await self.interrupt()
        self._out.put_nowait(None)

    async def query(self, prompt: AsyncIterable[Json]) -> None:
        async for message in prompt:
            self._unread.append((message["uuid"], message["message"]["content"]))
        if self._turn is None or self._turn.done():
            self._turn = asyncio.create_task(self._play())

    async def receive_messages(self) -> AsyncIterator[Message]:
        while (message := await self._out.get()) is not None:
            if isinstance(message, Exception):
                raise message
            yield message
            self._out.task_done()

    async def interrupt(self) -> None:
        if self._turn is not None and not self._turn.done():
            self._turn.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._turn

    async def _play(self) -> None:
        try:
            text = await self._work()
            self._end(text)
        except asyncio.CancelledError:
            self._sent.append(_user("[Request interrupted by user]"))
            self._end("", terminal_reason="aborted_tools")
            raise
        except Exception as error:  # noqa: BLE001 - the session must end with it
            self._out.put_nowait(error)

    async def _work(self) -> str:
        """Ask and act until the model stops and nothing keeps it; return its last words."""
        if not self._begun:
            self._begun = True
            self._out.put_nowait(SystemMessage(subtype="init", data=self._about()))
        while True:
            for key, text in self._unread:
                self._answered.append(key)
                self._sent.append(_user(text))
            self._unread.clear()
            blocks = await self._ask_model()
            text = "\n".join(b["text"] for b in blocks if b["type"] == "text")
            calls = [b for b in blocks if b["type"] == "tool_use"]
            results: list[Json] = []
            for call in calls:
                result, ends = await self._call(call)
                results += result
                if ends:
                    return text
            if results:
                self._sent.append({"role": "user", "content": results})
            elif not self._unread:
                kept = await self._hook("Stop", None, {"last_assistant_message": text})
                if kept.get("decision") != "block":
                    return text
                self._sent.append(_user(f"Stop hook feedback:\n{kept['reason']}"))

    def _about(self) -> Json:
        return {
            "session_id": self._session,
            "model": self._options.model or "",
            "tools": self._options.tools,
            "claude_code_version": "played",
        }

    async def _ask_model(self) -> list[Json]:
        prompt: Any = self._options.system_prompt
        tools: Any = self._options.tools
        body = {
            "model": f"claude-{self._options.model}",
            "max_tokens": 32_000,
            "stream": True,
            "system": prompt["append"],
            "tools": [{"name": name} for name in (*tools, *await self._own_tools())],
            "messages": self._sent,
        }
        port = urlsplit({**os.environ, **self._options.env}["ANTHROPIC_BASE_URL"]).port
        assert port is not None
        status, _, data = await asyncio.to_thread(
            exchange_blocking,
            port,
            "POST",
            "/v1/messages",
            json.dumps(body).encode(),
            {"x-claude-code-session-id": self._session},
        )
        assert status == 200, "a played CLI knows no failures of the service"
        blocks: list[Json] = []
        streamed: list[Json] = [*events(data)]
        for event in streamed:
            if event["type"] == "content_block_start":
                blocks.append({**event["content_block"]})
            elif event["type"] == "content_block_delta":
                _extend(blocks[-1], event["delta"])
        for block in blocks:
            if block["type"] == "tool_use":
                block["input"] = json.loads(block.pop("json", "{}"))
        for event in streamed:
            if event["type"] == "message_delta":
                self._say(blocks)
            self._out.put_nowait(
                StreamEvent(uuid=str(uuid.uuid4()), session_id=self._session, event=event)
            )
        self._sent.append({"role": "assistant", "content": blocks})
        return blocks

    def _say(self, blocks: list[Json]) -> None:
        content: list[Any] = [
            TextBlock(text=b["text"])
            if b["type"] == "text"
            else ToolUseBlock(id=b["id"], name=b["name"], input=b["input"])
            for b in blocks
            if b["type"] in ("text", "tool_use")
        ]
        self._out.put_nowait(AssistantMessage(content=content, model=self._options.model or ""))

    async def _call(self, call: Json) -> tuple[list[Json], bool]:
        """Make one tool call; return what the model hears of it, and whether the turn ends with it."""
        key, name, given = call["id"], call["name"], call["input"]
        about = {"tool_name": name, "tool_input": given, "tool_use_id": key}
        before = (await self._hook("PreToolUse", key, about)).get("hookSpecificOutput", {})
        decision = before.get("permissionDecision", "allow")
        given = before.get("updatedInput", given)
        text, failed = str(before.get("permissionDecisionReason", "")), True
        after: Json = {}
        if decision == "ask" or (decision == "allow" and name == "AskUserQuestion"):
            assert self._options.can_use_tool is not None
            ruling = await self._options.can_use_tool(
                name, given, ToolPermissionContext(tool_use_id=key)
            )
            if isinstance(ruling, PermissionResultAllow):
                decision, given = "allow", ruling.updated_input or given
            elif ruling.interrupt:
                refused = "The user doesn't want to proceed with this tool use."
                gone = ToolResultBlock(tool_use_id=key, content=refused, is_error=True)
                self._out.put_nowait(UserMessage(content=[gone]))
                raise asyncio.CancelledError
            else:
                decision, text = "deny", ruling.message
        if decision == "allow":
            text, failed = await self._run(name, given)
            moment = "PostToolUseFailure" if failed else "PostToolUse"
            after = await self._hook(moment, key, {**about, "tool_response": text})
        heard = ToolResultBlock(tool_use_id=key, content=text, is_error=failed)
        self._out.put_nowait(UserMessage(content=[heard]))
        result: list[Json] = [
            {"type": "tool_result", "tool_use_id": key, "content": text, "is_error": failed}
        ]
        if note := after.get("hookSpecificOutput", {}).get("additionalContext"):
            result.append(
                {"type": "text", "text": f"<system-reminder>\n{note}\n</system-reminder>"}
            )
        return result, after.get("continue_") is False

    async def _hook(self, moment: str, key: str | None, about: Json) -> Json:
        await self._out.join()  # a hook is called behind what was said before it
        hooks: Any = self._options.hooks
        (matcher,) = hooks[moment]
        answer = await matcher.hooks[0]({"hook_event_name": moment, **about}, key, {"signal": None})
        return dict(answer)

    async def _run(self, name: str, given: Json) -> tuple[str, bool]:
        try:
            match name:
                case "Bash":
                    return await self._shell(given["command"])
                case "Read":
                    return self._file(given).read_text(encoding="utf-8"), False
                case "Write":
                    file = self._file(given)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(given["content"], encoding="utf-8")
                    return f"File created successfully at: {file}", False
                case "AskUserQuestion":
                    return f"The person has answered: {json.dumps(given['answers'])}", False
                case _:
                    return await self._own_tool(name.removeprefix("mcp__ralph__"), given)
        except OSError as error:
            return str(error), True

    def _file(self, given: Json) -> Path:
        return Path(self._options.cwd or "", given["file_path"])

    @property
    def _own_server(self) -> Any:
        servers: Any = self._options.mcp_servers
        return servers["ralph"]["instance"].request_handlers

    async def _own_tools(self) -> list[str]:
        listed = (await self._own_server[ListToolsRequest](ListToolsRequest())).root
        return [f"mcp__ralph__{tool.name}" for tool in listed.tools]

    async def _own_tool(self, name: str, given: Json) -> tuple[str, bool]:
        params = CallToolRequestParams(name=name, arguments=given)
        answer = (await self._own_server[CallToolRequest](CallToolRequest(params=params))).root
        text = "\n".join(part.text for part in answer.content if isinstance(part, TextContent))
        return text, bool(answer.isError)

    async def _shell(self, command: str) -> tuple[str, bool]:
        assert self._options.sandbox is None, "a played CLI has no sandbox"
        environment = {**os.environ, **self._options.env}
        for name in (*environment.pop("RALPH_GUARD_REMOVED", "").split(), *PIPED_KEYS):
            environment.pop(name, None)
        with tempfile.TemporaryFile() as output:  # a job in the background would hold a pipe open
            process = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                command,
                cwd=self._options.cwd,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                status = await process.wait()
            except asyncio.CancelledError:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
                raise
            output.seek(0)
            text = output.read().decode("utf-8", "replace").rstrip("\n")
        return (f"Exit code {status}\n{text}", True) if status else (text, False)

    def _end(self, text: str, terminal_reason: str | None = None) -> None:
        answered, self._answered = self._answered, []
        self._out.put_nowait(
            ResultMessage(
                subtype="success",
                duration_ms=0,
                duration_api_ms=0,
                is_error=False,
                num_turns=1,
                session_id=self._session,
                result=text,
                terminal_reason=terminal_reason,
                user_message_uuids=answered,
            )
        )


def _user(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _extend(block: Json, delta: Json) -> None:
    if "partial_json" in delta:
        block["json"] = block.get("json", "") + delta["partial_json"]
    elif "text" in delta:
        block["text"] += delta["text"]

"""Our list prices against what the bundled CLI charges for known usage."""

from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from ralph_tui.agent.prices import estimate
from ralph_tui.domain.budget import TokenUsage
from tests.harness.model import cli_environment, serving

pytestmark = pytest.mark.real_cli

ONE_EACH = {
    "input": TokenUsage(input_tokens=100_000),
    "output": TokenUsage(output_tokens=10_000),
    "cache_read": TokenUsage(cache_read_tokens=100_000),
    "cache_creation": TokenUsage(cache_creation_tokens=100_000),
}


async def charged(model: str, usage: TokenUsage, tmp_path: Path) -> float:
    scenario = f"""
scripts:
  - when: hi
    turns:
      - say: hello
        usage: {{input: {usage.input_tokens}, output: {usage.output_tokens},
                cache_read: {usage.cache_read_tokens}, cache_creation: {usage.cache_creation_tokens}}}
"""
    async with serving(scenario) as server:
        options = ClaudeAgentOptions(
            tools=[], model=model, cwd=tmp_path, setting_sources=[],
            env=cli_environment(server, tmp_path / "claude"),
        )  # fmt: skip
        async with ClaudeSDKClient(options) as client:
            await client.query("hi")
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    assert message.total_cost_usd is not None
                    return message.total_cost_usd
    raise AssertionError("no result")


@pytest.mark.parametrize("model", ["sonnet", "opus", "haiku"])
@pytest.mark.parametrize("kind", ONE_EACH)
async def test_the_estimate_is_what_the_cli_charges(model: str, kind: str, tmp_path: Path) -> None:
    usage = ONE_EACH[kind]
    exact = await charged(model, usage, tmp_path)
    assert estimate(model, usage) == pytest.approx(exact, rel=0.02), f"{exact=}"

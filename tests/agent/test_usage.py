"""Our list prices against what the bundled CLI charges for known usage."""

from pathlib import Path

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage

from ralph_tui.agent.translate import estimate
from ralph_tui.domain.run.context_budget import TokenUsage
from tests.harness.model import cli_environment, serving

ONE_EACH = {
    "input": TokenUsage(input_tokens=100_000),
    "output": TokenUsage(output_tokens=10_000),
    "cache_read": TokenUsage(cache_read_tokens=100_000),
    "cache_creation": TokenUsage(cache_creation_tokens=100_000),
}


TURN = """
      - say: hello
        usage: {{input: {usage.input_tokens}, output: {usage.output_tokens},
                cache_read: {usage.cache_read_tokens}, cache_creation: {usage.cache_creation_tokens}}}
"""


async def charged(client: ClaudeSDKClient, prompt: str) -> float:
    await client.query(prompt)
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            assert message.total_cost_usd is not None
            return message.total_cost_usd
    raise AssertionError("no result")


@pytest.mark.parametrize(
    "model",
    [
        "sonnet",
        pytest.param("opus", marks=pytest.mark.long),
        pytest.param("haiku", marks=pytest.mark.long),
    ],
)
async def test_the_estimate_is_what_the_cli_charges(model: str, tmp_path: Path) -> None:
    scripts = [
        f"\n  - when: pay {kind}\n    turns:{TURN.format(kind=kind, usage=usage)}"
        for kind, usage in ONE_EACH.items()
    ]
    exact, so_far = {}, 0.0
    async with serving("scripts:" + "".join(scripts)) as server:
        options = ClaudeAgentOptions(
            tools=[], model=model, cwd=tmp_path, setting_sources=[],
            env=cli_environment(server, tmp_path / "claude"),
        )  # fmt: skip
        async with ClaudeSDKClient(options) as client:
            for kind in ONE_EACH:
                total = await charged(client, f"pay {kind}")
                exact[kind], so_far = total - so_far, total
    assert {
        kind: estimate(model, usage) / 1e9 for kind, usage in ONE_EACH.items()
    } == pytest.approx(exact, rel=0.02)

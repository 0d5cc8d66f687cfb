"""The environment that keeps the CLI on this machine."""

from pathlib import Path

DUMMY_KEY = "sk-ant-ralph-demo-no-key"

_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
    "DISABLE_COST_WARNINGS": "1",
    "DISABLE_FEEDBACK_COMMAND": "1",
    "CLAUDE_CODE_ENABLE_TELEMETRY": "0",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
}
"""Everything the CLI would send or fetch that is not a model's turn."""

_OTHER_WAYS_TO_A_MODEL = (
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_UNIX_SOCKET",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
)
"""Settings of the person's own environment that would win over the loopback; emptied."""


def cli_environment(base_url: str, config_dir: Path) -> dict[str, str]:
    """Variables to lay over the caller's environment for a CLI that talks to `base_url` only."""
    return {
        **dict.fromkeys(_OTHER_WAYS_TO_A_MODEL, ""),
        **_QUIET,
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": DUMMY_KEY,
        "CLAUDE_CONFIG_DIR": str(config_dir),
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }

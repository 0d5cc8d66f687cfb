# The CLI's shell sources this file before every command of the agent. The person's shell settings may have put
# other directories before the shims, and commands must not see the CLI's key.
case $PATH in
"$RALPH_GUARD_SHIMS":*) ;;
*) PATH=$RALPH_GUARD_SHIMS:$PATH ;;
esac
unset ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN
# Variables for a phase's extra MCP servers (engine/safety/phase_extensions.py); eval because zsh splits no words.
eval "unset ${RALPH_EXTRA_NAMES-} RALPH_EXTRA_NAMES"
# This directory is writable only outside the sandbox, which means that the CLI has lost it.
if [ -n "${RALPH_GUARD_WITNESS-}" ] && [ -w "$RALPH_GUARD_WITNESS" ]; then
    echo "ralph: the sandbox is gone, so this command did not run." >&2
    exit 126
fi

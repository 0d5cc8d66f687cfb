# Read by the CLI's shell before every command of the agent: a person's own shell settings may have put
# other directories before the shims, and the key of the CLI is no business of its tools.
case $PATH in
"$RALPH_GUARD_SHIMS":*) ;;
*) PATH=$RALPH_GUARD_SHIMS:$PATH ;;
esac
unset ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN
# What the extra MCP servers of a phase need (engine/safety/phase_extensions.py); eval, because zsh splits no words.
eval "unset ${RALPH_EXTRA_NAMES-} RALPH_EXTRA_NAMES"
# Only outside the sandbox can this directory be written to; then the CLI has lost the sandbox.
if [ -n "${RALPH_GUARD_WITNESS-}" ] && [ -w "$RALPH_GUARD_WITNESS" ]; then
    echo "ralph: the sandbox is gone, so this command did not run." >&2
    exit 126
fi

"""Prompt templates as files; a project overrides them with PROMPT_build.md and its like."""

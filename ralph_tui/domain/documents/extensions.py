"""MCP servers that a person adds to a phase, and the output of their tools. Secrets are referenced, never stored."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ralph_tui.domain.base import Model
from ralph_tui.domain.redaction import is_secret_name, redact
from ralph_tui.domain.variable_references import Reference, references

OWN_SERVER = "ralph"
"""The name of ralph's own MCP server, and of the plugin that contains the skills."""

_SERVER_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
_MAX_NAME = 40


class McpServer(Model):
    """One extra MCP server, as in `.mcp.json`. `env` and `headers` may refer to variables as `${NAME}` or `${NAME:-x}`."""

    type: Literal["", "stdio", "http", "sse"] = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = Field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server needs either a command or a url")
        if self.url and (self.args or self.env or self.type == "stdio"):
            raise ValueError("args, env and type stdio belong to a command, not to a url")
        if self.command and (self.headers or self.type in ("http", "sse")):
            raise ValueError("headers and the types http and sse belong to a url, not to a command")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError("the url must begin with http:// or https://")
        self._no_secrets()
        return self

    def _no_secrets(self) -> None:
        for text in (self.command, *self.args, self.url):
            if "${" in text:
                raise ValueError(
                    "${NAME} is allowed only in env and headers, which are never shown"
                )
            if redact(text) != text:
                raise ValueError(
                    "contains a key or password. Put it into env or headers as ${NAME}"
                )
        for name, text in {**self.env, **self.headers}.items():
            used = references(text)
            secret = is_secret_name(name.replace("-", "_")) or redact(text) != text
            if secret and text and not used:
                raise ValueError(
                    f"{name} looks like a secret. Write {name}: ${{VARIABLE}} instead of it"
                )

    @property
    def variables(self) -> tuple[Reference, ...]:
        texts = (*self.env.values(), *self.headers.values())
        return tuple(dict.fromkeys(found for text in texts for found in references(text)))


def _server_names(servers: Mapping[str, McpServer]) -> Mapping[str, McpServer]:
    for name in servers:
        if not _SERVER_NAME.fullmatch(name) or len(name) > _MAX_NAME:
            raise ValueError(
                f"{name!r} cannot name a server: use letters, digits and single - or _"
            )
        if name.casefold() == OWN_SERVER:
            raise ValueError(f"{name!r} is ralph's own server. Choose another name")
    return servers


McpServers = Annotated[Mapping[str, McpServer], AfterValidator(_server_names)]
"""Extra servers by name."""

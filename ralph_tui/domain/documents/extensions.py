"""What a person adds to a phase: MCP servers and skills. Secrets are named here, never written."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from ralph_tui.domain.base import Model
from ralph_tui.domain.redaction import is_secret_name, redact
from ralph_tui.domain.variable_references import Reference, references

OWN_SERVER = "ralph"
"""The name of ralph's own server, and of the plugin that skills are given in."""

_SERVER_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")
_MAX_NAME = 40


class McpServer(Model):
    """One extra MCP server, as in a `.mcp.json`; `${NAME}` or `${NAME:-x}` in `env` and `headers` is a variable."""

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
        """Refuse secrets: on a command line every process list shows them, and in the file they are stored."""
        for text in (self.command, *self.args, self.url):
            if "${" in text:
                raise ValueError("${NAME} may stand in env and headers only, where nobody sees it")
            if redact(text) != text:
                raise ValueError("holds a key or password; put it into env or headers as ${NAME}")
        for name, text in {**self.env, **self.headers}.items():
            used = references(text)
            secret = is_secret_name(name.replace("-", "_")) or redact(text) != text
            if secret and text and not used:
                raise ValueError(f"{name} looks secret; write {name}: ${{VARIABLE}} instead of it")

    @property
    def variables(self) -> tuple[Reference, ...]:
        """The environment variables it refers to."""
        texts = (*self.env.values(), *self.headers.values())
        return tuple(dict.fromkeys(found for text in texts for found in references(text)))


def _server_names(servers: Mapping[str, McpServer]) -> Mapping[str, McpServer]:
    for name in servers:
        if not _SERVER_NAME.fullmatch(name) or len(name) > _MAX_NAME:
            raise ValueError(
                f"{name!r} cannot name a server: use letters, digits and single - or _"
            )
        if name.casefold() == OWN_SERVER:
            raise ValueError(f"{name!r} is ralph's own server; choose another name")
    return servers


McpServers = Annotated[Mapping[str, McpServer], AfterValidator(_server_names)]
"""Extra servers by name."""


class Picture(Model):
    """An image a tool returned; `data` is base64."""

    data: str


class ToolOutput(Model):
    """What an MCP tool returned: inert text and pictures, both bounded."""

    text: str = ""
    pictures: tuple[Picture, ...] = ()

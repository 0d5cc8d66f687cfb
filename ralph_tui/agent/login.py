"""Finds the login and the address of the model, and tests both without spending anything."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from ralph_tui.agent.address_check import VARIABLE, check_address
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import one_line

KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
CLOUD_VARIABLES = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
"""With these the CLI uses a cloud's own credentials, which ralph does not check."""

LOGIN_HINT = (
    "Set ANTHROPIC_API_KEY, or log in once with `claude` (then /login). `ralph demo` needs neither."
)
_HELPER = "apiKeyHelper"
_HELPER_SECONDS = 10.0
_MANAGED = Path("/etc/claude-code/managed-settings.json")
_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
_UNREACHED = (
    f"Check the network, the proxy variables and {VARIABLE}. A run waits until the API is reached."
)
_DEFAULT_URL = "https://api.anthropic.com"
_UNTRIED = (*CLOUD_VARIABLES, "CLAUDE_CODE_OAUTH_TOKEN")


def login(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return a description of how the CLI will log in; None if it cannot.

    On macOS the login is in the keychain, which cannot be read without asking the person.
    """
    for name in (*KEY_VARIABLES, *CLOUD_VARIABLES):
        if environ.get(name, "").strip():
            return name
    if key_helper(environ):
        return f"the {_HELPER} of Claude's settings"
    credentials = _config_directory(environ) / ".credentials.json"
    if credentials.is_file():
        return str(credentials)
    return "the macOS keychain (not checked)" if sys.platform == "darwin" else None


def key_helper(environ: Mapping[str, str] = os.environ) -> str:
    """Return the person's command that prints an API key; the project's settings are not trusted with it."""
    for path in (_MANAGED, _config_directory(environ) / "settings.json"):
        try:
            command = json.loads(path.read_text(encoding="utf-8")).get(_HELPER)
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(command, str) and command.strip():
            return command
    return ""


def check_login(environ: Mapping[str, str] = os.environ) -> None:
    """Require an API key or a login, and that a helper prints a key. Blocks."""
    how = login(environ)
    if how is None:
        raise SetupError("There is no API key and no Claude login.", LOGIN_HINT)
    key = _key(how, environ)
    if not (key.strip().isascii() and key.strip().isprintable() and " " not in key.strip()):
        raise SetupError(
            f"What {how} holds is no key: it has spaces or special characters.", LOGIN_HINT
        )


def _key(how: str, environ: Mapping[str, str]) -> str:
    return _run_helper(key_helper(environ)) if how.endswith("settings") else environ.get(how, "")


def try_login(environ: Mapping[str, str] = os.environ) -> str:
    """Ask the API for the name of one model, which costs nothing; return what that showed. Blocks for seconds.

    Raises:
        SetupError: There is no login, the address is wrong, or the API rejects the key.
    """
    import urllib.error
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            """Keep the key from another address."""

    check_login(environ)
    check_address(environ)
    how = login(environ) or ""
    key = "" if how in _UNTRIED else _key(how, environ).strip()
    if not key:
        return f"by {how} (cannot be tried)"
    headers = {"anthropic-version": "2023-06-01", "user-agent": "ralph-tui"}
    given = (line.partition(":") for line in environ.get(_HEADERS, "").splitlines())
    headers |= {name.strip(): value.strip() for name, colon, value in given if colon}
    if how != "ANTHROPIC_AUTH_TOKEN":
        headers["x-api-key"] = key
    if how != "ANTHROPIC_API_KEY":
        headers["authorization"] = f"Bearer {key}"
    url = (environ.get(VARIABLE, "").strip() or _DEFAULT_URL).rstrip("/") + "/v1/models?limit=1"
    where = f"{urlsplit(url).netloc.rpartition('@')[2]}{f' ({VARIABLE})' if environ.get(VARIABLE) else ''}"
    try:
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked above
        with urllib.request.build_opener(NoRedirect).open(request, timeout=_HELPER_SECONDS):
            return f"by {how}, accepted by {where}"
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == HTTPStatus.UNAUTHORIZED:
            message = f"{where} rejects the login: HTTP 401."
            raise SetupError(message, rejected_login_hint(environ)) from error
        return f"by {how}; {where} is reached, and does not say whether it accepts it (HTTP {error.code})"
    except (OSError, ValueError, HTTPException) as error:
        why = getattr(error, "reason", "") or error
        raise SetupError(
            f"{where} is not reached: {one_line(str(why), 100)}.", _UNREACHED
        ) from error


def rejected_login_hint(environ: Mapping[str, str]) -> str:
    how = login(environ)
    if how in KEY_VARIABLES:
        return f"Replace the key in {how}, which comes from your environment. If you have a Claude login, unset it."
    return f"The login came from {how}. {LOGIN_HINT}" if how else LOGIN_HINT


def address_hint(environ: Mapping[str, str]) -> str:
    url = environ.get(VARIABLE, "").strip()
    host = urlsplit(url).netloc.rpartition("@")[2] or one_line(url, 80)
    text = f"The address is {host} ({VARIABLE}, from your environment). No attempt was counted."
    return text if url else ""


def _run_helper(command: str) -> str:
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],  # the person's own setting, as the CLI runs it
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_HELPER_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        why = f"it did not end in {_HELPER_SECONDS:.0f} seconds"
        raise _broken_helper(command, why) from error
    if done.returncode or not done.stdout.strip():
        printed = done.stderr.strip().splitlines()
        raise _broken_helper(
            command, printed[-1] if printed else f"status {done.returncode}, no key"
        )
    return done.stdout


def _broken_helper(command: str, why: str) -> SetupError:
    message = f"The {_HELPER} of Claude's settings fails (`{one_line(command, 80)}`): {one_line(why, 200)}"
    return SetupError(message, f"Correct it in Claude's settings.json. {LOGIN_HINT}")


def _config_directory(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")

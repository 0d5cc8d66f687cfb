"""Line 37: an address called https that is none, and a certificate nobody vouches for; on real sockets."""

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralph_tui.agent import address_check
from ralph_tui.agent.address_check import address_problem, check_address
from ralph_tui.domain.errors import SetupError
from tests.harness.suite import need

Answer = Callable[[socket.socket], object]


@contextlib.contextmanager
def listening(answer: Answer) -> Iterator[dict[str, str]]:
    """A server that treats each caller so; the environment that names it as https."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):  # closed at the end
                while True:
                    caller, _ = server.accept()
                    with caller, contextlib.suppress(OSError):
                        answer(caller)

        threading.Thread(target=serve, daemon=True).start()
        yield {address_check.VARIABLE: f"https://127.0.0.1:{server.getsockname()[1]}/v1"}
        server.shutdown(socket.SHUT_RDWR)


def speaks_http(caller: socket.socket) -> None:
    caller.recv(4096)
    caller.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")


def says_nothing(caller: socket.socket) -> None:
    while caller.recv(4096):
        pass


def hangs_up(caller: socket.socket) -> None:
    caller.recv(4096)


def self_signed(directory: Path) -> ssl.SSLContext:
    """What a server needs to speak TLS with a certificate that it signed itself."""
    need("openssl")
    key, made = directory / "key.pem", directory / "made.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command = ["openssl", *words.split(), "-keyout", str(key), "-out", str(made)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return context


def test_what_speaks_no_tls_is_refused_before_anything_is_spent() -> None:
    with listening(speaks_http) as environ:
        where = environ[address_check.VARIABLE].removeprefix("https://").removesuffix("/v1")
        with pytest.raises(SetupError) as caught:
            check_address(environ)
        assert caught.value.message == f"{where} does not speak TLS."
        assert "ANTHROPIC_BASE_URL" in caught.value.hint
        assert address_problem(environ)[0] == f"{where} does not speak TLS."


@pytest.mark.parametrize(
    ("answer", "said"),
    [(says_nothing, "does not answer a TLS handshake."), (hangs_up, "the TLS handshake")],
)
def test_who_may_only_be_busy_is_named_and_not_refused(
    answer: Answer, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address_check, "SECONDS", 0.1)
    with listening(answer) as environ:
        check_address(environ)
        assert said in address_problem(environ)[0]


def test_whom_the_cli_trusts_is_its_own_matter(tmp_path: Path) -> None:
    context = self_signed(tmp_path)

    def speaks_tls(caller: socket.socket) -> None:
        context.wrap_socket(caller, server_side=True).close()

    with listening(speaks_tls) as environ:
        check_address(environ)
        assert address_problem(environ)[0] == ""


def test_a_proxy_between_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(speaks_http) as environ:
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert address_problem(environ)[0] == ""

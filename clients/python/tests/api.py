"""An API for the tests, on the MongoDB of HOLDFAST_TEST_MONGODB_URI, and a proxy that cuts its connections."""

import base64
import contextlib
import hmac
import json
import os
import secrets
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

root = Path(__file__).parents[3]
KEY = "secret-of-the-tests"
JWT_SECRET = "0123456789abcdef0123456789abcdef"
START_TIMEOUT = 120.0  # seconds, also under load


class Api:
    """A process of the API. It keeps its database and its port when it is started again."""

    def __init__(self, **settings: str) -> None:
        self._settings = {
            "MONGODB_URI": os.environ["HOLDFAST_TEST_MONGODB_URI"],
            "MONGODB_DATABASE": f"holdfast_python_{secrets.token_hex(6)}",
            "HTTP_ADDR": "127.0.0.1:0",
            "SHUTDOWN_DELAY": "0s",
            "LOG_FORMAT": "json",
            "LOG_LEVEL": "info",
            "API_KEYS": f"shop:admin:{KEY}",
            "JWT_SECRET": JWT_SECRET,
            "WEBHOOK_ALLOW_PRIVATE": "true",
            "RUN_JOBS": "true",
            "REDIS_ENABLED": "false",
            **settings,
        }
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        log = Path(tempfile.mkdtemp(), "api.log")
        with log.open("wb") as output:
            self._process = subprocess.Popen([root / ".build" / "api"], env={**os.environ, **self._settings}, stderr=output)
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline and self._process.poll() is None:
            if not self.port and '"Listening","addr":"' in (text := log.read_text()):
                self.port = int(text.split('"Listening","addr":"127.0.0.1:')[1].split('"')[0])
                self._settings["HTTP_ADDR"] = f"127.0.0.1:{self.port}"
            with contextlib.suppress(OSError):
                if self.port and urllib.request.urlopen(self.url + "/readyz").status == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(log.read_text())

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()

    def restart(self) -> None:
        self.stop()
        self.start()


class Proxy:
    """Passes connections on, and counts requests. It can lose answers after the API has executed the request."""

    def __init__(self, target: int, port: int = 0) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = int(self._listener.getsockname()[1])
        self._connections: list[socket.socket] = []
        self._answers_to_lose = 0
        self.heads: list[str] = []  # of the requests
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def lose_answers(self, count: int) -> None:
        self._answers_to_lose = count
        self.heads.clear()

    def cut(self) -> None:
        """Ends all connections."""
        while self._connections:
            _end(self._connections.pop())

    def close(self) -> None:
        _end(self._listener)
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._target))
                except OSError:
                    _end(client)
                    continue
                self._connections += [client, server]
                threading.Thread(target=self._pass_requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._pass_answers, args=(server, client), daemon=True).start()

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := client.recv(65536):
                if b" HTTP/1.1\r\n" in chunk:
                    self.heads.append(chunk.split(b"\r\n\r\n")[0].decode())
                server.sendall(chunk)
        _end(server)

    def _pass_answers(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := server.recv(65536):
                if self._answers_to_lose > 0:  # the request is executed
                    self._answers_to_lose -= 1
                    break
                client.sendall(chunk)
        _end(client)
        _end(server)


class Website(ThreadingHTTPServer):
    """Something else at the URL of the API, which answers all requests alike, and counts them."""

    def __init__(self, status: int, media_type: str, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Page)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.answer = status, media_type, body
        self.requests = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()


class _Page(BaseHTTPRequestHandler):
    server: Website

    def _answer(self) -> None:
        self.server.requests += 1
        status, media_type, body = self.server.answer
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def new_token(holder: str) -> str:
    """A customer's token, as a shop's back end signs it."""

    def encoded(part: bytes) -> str:
        return base64.urlsafe_b64encode(part).decode().rstrip("=")

    claims = {"holder": holder, "sub": holder, "exp": int(time.time()) + 3600}
    text = f"{encoded(json.dumps({'alg': 'HS256', 'typ': 'JWT'}).encode())}.{encoded(json.dumps(claims).encode())}"
    return f"{text}.{encoded(hmac.digest(JWT_SECRET.encode(), text.encode(), 'sha256'))}"


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()

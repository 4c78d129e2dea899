"""A server on loopback with the interfaces of OpenAI's chat completions and of Anthropic's messages.

The server counts the replies that it delivers. Like Anthropic, its Anthropic interface refuses messages without text.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "openai-api/fake/model-1"
ANTHROPIC_MODEL = "anthropic/claude-fake-1"
MODELS = (MODEL, ANTHROPIC_MODEL)
"""Inspect's name of the model at each interface."""


@dataclass
class Sent:
    """The reply of the server to one request."""

    text: str = "1"
    status: int = 200
    body: bytes | None = None
    """The whole body, instead of a reply with `text`."""
    wait_s: float = 0
    is_truncated: bool = False
    """True if the reply reached the limit of tokens."""


MALFORMED = Sent(body=b'{"choices": [')
"""A reply that ends too early."""


@dataclass
class FakeProvider:
    """The server's behaviour and its counts."""

    send: Callable[[str, int], Sent] = lambda _prompt, _attempt: Sent()
    """Function of the prompt and the number of the attempt at this prompt, from 1."""
    url: str = ""
    billed: Counter[str] = field(default_factory=Counter)
    """Number of whole replies that were delivered, by prompt."""
    attempts: Counter[str] = field(default_factory=Counter)
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which Inspect finds this server."""
        return {
            "FAKE_BASE_URL": f"{self.url}/v1",
            "FAKE_API_KEY": "not-a-secret",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "not-a-secret",
        }

    @property
    def n_billed(self) -> int:
        """The number of delivered replies."""
        with self.lock:
            return self.billed.total()


@contextmanager
def fake_provider(send: Callable[[str, int], Sent] | None = None) -> Iterator[FakeProvider]:
    """Run the server until the block ends."""
    provider = FakeProvider() if send is None else FakeProvider(send)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply_of = _REPLIES.get(self.path.partition("?")[0])
            if reply_of is None:
                self.send_error(404)
                return
            prompt = _text(request["messages"][-1]["content"])
            with provider.lock:
                provider.attempts[prompt] += 1
                provider.requests.append(request)
                attempt = provider.attempts[prompt]
            is_refused = reply_of is _message and not all(_has_text(each["content"]) for each in request["messages"])
            sent = Sent(status=400) if is_refused else provider.send(prompt, attempt)
            time.sleep(sent.wait_s)
            body = sent.body if sent.body is not None else json.dumps(reply_of(sent)).encode()
            try:
                self.send_response(sent.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with provider.lock:
                    self.wfile.write(body)
                    self.wfile.flush()
                    if sent.status == 200 and sent.body is None:
                        provider.billed[prompt] += 1
            except OSError:
                self.close_connection = True  # The client was killed.

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        # The standard library's 5 waiting connections are too few on a busy machine: further ones are refused.
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _has_text(content: str | list[dict[str, Any]]) -> bool:
    texts = [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]
    return bool(texts) and all(text.strip() for text in texts)


def _completion(sent: Sent) -> dict[str, Any]:
    if sent.status != 200:
        return {"error": {"message": f"status {sent.status}", "type": "fake", "code": str(sent.status)}}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "model-1-2026-01-01",
        "choices": [
            {
                "index": 0,
                "finish_reason": "length" if sent.is_truncated else "stop",
                "message": {"role": "assistant", "content": sent.text},
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


_ANTHROPIC_ERRORS = {
    400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error", 500: "api_error",
    529: "overloaded_error",
}  # fmt: skip


def _message(sent: Sent) -> dict[str, Any]:
    if sent.status != 200:
        error = {"type": _ANTHROPIC_ERRORS[sent.status], "message": f"status {sent.status}"}
        return {"type": "error", "error": error, "request_id": "req_1"}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-fake-1-20260101",
        "content": [{"type": "text", "text": sent.text}] if sent.text else [],
        "stop_reason": "max_tokens" if sent.is_truncated else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 10},
    }


_REPLIES: dict[str, Callable[[Sent], dict[str, Any]]] = {
    "/v1/chat/completions": _completion,
    "/v1/messages": _message,
}

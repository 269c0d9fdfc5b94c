"""HTTP connections with deadlines for the client.

uvicorn limits only how long a connection is idle after an answer. A client that sends its headers
slowly or never, or does not read the answer, would keep its connection for ever.
"""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0  # seconds for the headers, for the upload, and for the client to read on
CONNECTIONS = 256  # at once; more are answered with 503


class Connection(H11Protocol):
    """A connection of HTTP/1.1 with a deadline for each action of the client."""

    _deadline: TimerHandle | None = None

    # as uvicorn narrows the argument
    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the headers of the first request."""
        super().connection_made(transport)
        self._await_client()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Stop waiting once the headers are complete."""
        super().handle_events()
        if self.cycle and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the headers of the next request."""
        self._await_client()  # before pipelined requests are handled
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._await_client()

    def resume_writing(self) -> None:
        """Stop waiting, since the client has read on."""
        super().resume_writing()
        self._stop_waiting()

    def _await_client(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(PATIENCE, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

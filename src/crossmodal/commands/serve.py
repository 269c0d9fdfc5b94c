"""Serve the web page that searches with fitted models."""

import socket
import sys
from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.reporting.expectation import expectation
from crossmodal.search.place import Place
from crossmodal.search.searcher import Searcher

LOOPBACK = ("127.0.0.1", "localhost")
EVERYWHERE = ("", "0.0.0.0")  # listens on all names of the machine


def serve(
    folders: list[Path],
    place: Place,
    *,
    host: str,
    port: int,
    approximate: bool,
    threads: int,
    weights: Path,
) -> None:
    """Open all indexes, and serve until an interrupt.

    Args:
        folders: Model folders.
        place: The items to search.
        host: Address to listen on.
        port: Port to listen on; 0 is any free one.
        approximate: Use approximate nearest-neighbour search (FAISS).
        threads: Threads of a search.
        weights: Folder of networks' weights.

    Raises:
        CrossmodalError: If the libraries of the page are not installed, a model cannot search, or
            the port is taken.
    """
    try:
        import uvicorn

        from crossmodal.search.application import make_application
        from crossmodal.search.connections import CONNECTIONS, Connection
    except ImportError as error:
        raise CrossmodalError(
            f"the page needs {error.name}: pip install 'crossmodal-retrieval[serve]'"
        ) from error
    with _listen(host, port) as listening:
        searchers = [Searcher(folder, weights, place) for folder in folders]
        for searcher in searchers:
            searcher.prepare()
        hosts = LOOPBACK if host in LOOPBACK else ["*" if host in EVERYWHERE else host]
        notes = [expectation(s.name, place.training_pairs(s.name)) for s in searchers]
        app = make_application(
            searchers, hosts, notes=notes, threads=threads, approximate=approximate
        )
        if host not in LOOPBACK:
            print(
                f"{host}: everybody who can connect to this machine can search and see the items",
                file=sys.stderr,
            )
        print(f"http://{host}:{listening.getsockname()[1]}/ (Ctrl+C stops it)", flush=True)
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            limit_concurrency=CONNECTIONS,
            proxy_headers=False,
            log_level="warning",
            server_header=False,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise CrossmodalError(
            f"{host}:{port}: {error.strerror or error}; choose another with --host and --port"
        ) from error

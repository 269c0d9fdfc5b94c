"""Serve the page that searches with fitted models."""

import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from crossmodal.errors import CrossmodalError
from crossmodal.search.searcher import Place, Searcher

LOOPBACK = ("127.0.0.1", "localhost")
EVERYWHERE = ("", "0.0.0.0")  # whose name may be any


def serve(
    folders: list[Path],
    place: Path | None,
    split: str,
    approximate: bool,
    host: str,
    port: int,
    threads: int,
    weights: Path,
    params: Path,
    overlays: Sequence[Path],
) -> None:
    """Open all indexes, and answer until it is interrupted.

    Args:
        folders: Model folders.
        place: Folder to be searched; None: the dataset of each model.
        split: Split of these datasets.
        approximate: Search by FAISS.
        host: Address to listen on.
        port: Port to listen on; 0 is any free one.
        threads: Processors that a search may use.
        weights: Folder of networks' weights.
        params: The params.yaml that names the datasets.
        overlays: Files laid over it.

    Raises:
        CrossmodalError: If the libraries of the page are not installed, a model cannot be searched
            with, or the port is taken.
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
        searchers = [
            Searcher(folder, weights, Place(place, split, params, overlays)) for folder in folders
        ]
        for searcher in searchers:
            searcher.prepare()
        hosts = LOOPBACK if host in LOOPBACK else ["*" if host in EVERYWHERE else host]
        app = make_application(searchers, hosts, threads=threads, approximate=approximate)
        if host not in LOOPBACK:
            print(f"{host}: whoever reaches this machine may search and see items", file=sys.stderr)
        print(f"http://{host}:{listening.getsockname()[1]}/ (Ctrl+C ends it)", flush=True)
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

"""The web server: a page, searches, and the media of the results.

It answers requests of its own page only: it checks the host name, against DNS rebinding, and
searches need a content type that other pages may not send without a preflight request. Uploads stay
in memory and are not stored. Media are re-encoded, so that the browser gets no file as it is.
Searches take turns, and so do media: one upload and one file are decoded at a time.
"""

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import soundfile
from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from PIL import Image
from starlette.concurrency import run_in_threadpool
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect

from crossmodal.errors import CrossmodalError
from crossmodal.io.image_files import read_image
from crossmodal.io.sound_files import RATE, read_speech
from crossmodal.search.connections import PATIENCE
from crossmodal.search.searcher import Searcher

PAGE = Path(__file__).with_name("page")
UPLOAD_BYTES = 10 * 2**20
TEXT_BYTES = 10_000
UPLOAD_PIXELS = 50_000_000  # a few kB may hold as many as there may be
# of a picture in memory: above 32 MiB, glibc hands each back when it is freed
PICTURE_BLOCK = 64 * 2**20
UPLOAD_SAMPLES = 600 * RATE
OTHER_PAGES = ("same-site", "cross-site")  # of the header `Sec-Fetch-Site`, which browsers send
MOST = 100  # results of a search
SIDE = 320  # pixels
KIND = "application/octet-stream"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' blob:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def make_application(
    searchers: Sequence[Searcher],
    hosts: Sequence[str],
    *,
    notes: Sequence[str],
    threads: int,
    approximate: bool,
) -> FastAPI:
    """Return the server.

    Args:
        searchers: One searcher per model.
        hosts: Accepted host names; `*` is any.
        notes: What to know of each model; may be empty.
        threads: Threads of a search.
        approximate: See `Index.search`.
    """
    Image.core.set_block_size(PICTURE_BLOCK)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[*hosts], www_redirect=False)
    turn = asyncio.Lock()  # one search at a time has all processors
    media_turn = asyncio.Lock()

    @app.middleware("http")
    async def add_headers(
        request: Request, answer: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        if request.headers.get("sec-fetch-site", "none") in OTHER_PAGES and not _opens(request):
            response: Response = JSONResponse({"detail": "asked by another page"}, 403)
        else:
            response = await answer(request)
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(CrossmodalError)
    def refuse(request: Request, error: CrossmodalError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 400)

    def searcher(model: int, modality: str | None = None) -> Searcher:
        if model not in range(len(searchers)):
            raise HTTPException(404, "there is no such model")
        if modality and modality not in searchers[model].model.modalities:
            raise HTTPException(404, "there is no such modality")
        return searchers[model]

    @app.get("/models")
    def models() -> list[dict[str, object]]:
        return [
            {
                "name": s.name,
                "searches": {query: s.held_targets(query) for query in s.model.modalities},
                "held": s.held,
                "note": note,
            }
            for s, note in zip(searchers, notes, strict=True)
        ]

    @app.get("/items/{model}/{modality}")
    async def items(
        model: int, modality: str, count: Annotated[int, Query(ge=1, le=MOST)] = 12
    ) -> dict[str, object]:
        engine = searcher(model, modality)
        async with turn:
            sample, total = await run_in_threadpool(engine.sample, modality, count)
        return {"items": [asdict(item) for item in sample], "total": total}

    @app.post("/search/{model}")
    async def search(
        model: int,
        request: Request,
        by: str,
        among: str | None = None,
        like: str | None = None,
        training: bool = False,
        count: Annotated[int, Query(ge=1, le=MOST)] = 12,
    ) -> dict[str, object]:
        engine = searcher(model)
        content = await _upload(request, TEXT_BYTES if by == "text" else UPLOAD_BYTES)

        def answer() -> dict[str, object]:
            if like is not None:
                results = engine.search_like(by, like, among, count, threads, approximate)
                unknown = []
            else:
                query, gallery = _query(by, content), engine.training if training else engine
                results = gallery.search(
                    by, query, among=among, count=count, threads=threads, approximate=approximate
                )
                unknown = engine.unknown_words(by, query)
            return {"items": [asdict(result) for result in results], "unknown": unknown}

        async with turn:
            return await run_in_threadpool(answer)

    @app.get("/media/{model}/{modality}")
    async def media(model: int, modality: str, id: str, training: bool = False) -> Response:
        engine = searcher(model, modality)
        async with media_turn:
            place = engine.training if training else engine
            return await run_in_threadpool(_medium, place, modality, id)

    app.mount("/", StaticFiles(directory=PAGE, html=True))
    return app


def _opens(request: Request) -> bool:
    """Return whether the page itself is opened, by a link for example."""
    return request.url.path == "/" and request.headers.get("sec-fetch-mode") == "navigate"


async def _upload(request: Request, most: int) -> bytes:
    """Read the body of a request; refuse it as soon as it is too large or too slow."""
    if request.headers.get("content-type") != KIND:
        raise HTTPException(415, f"the content type must be {KIND}")
    try:
        async with asyncio.timeout(PATIENCE):
            return await _body(request, most)
    except TimeoutError as error:
        raise HTTPException(408, f"the upload takes longer than {PATIENCE:.0f} seconds") from error
    except ClientDisconnect as error:
        raise HTTPException(400, "the upload ended early") from error


async def _body(request: Request, most: int) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > most:
            raise HTTPException(413, f"larger than {most:,} bytes")
    return bytes(content)


def _query(modality: str, content: bytes) -> str | bytes | tuple[np.ndarray, int]:
    """Return the query for `Model.embed`; decode it once, so that errors name the upload."""
    if modality == "text":
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise CrossmodalError("the text is not UTF-8") from error
    if modality == "image":
        read_image(content, "the picture", UPLOAD_PIXELS)
        return content
    return read_speech(content, "the recording", UPLOAD_SAMPLES).numpy(), RATE


def _medium(searcher: Searcher, modality: str, id: str) -> Response:
    """Return an item's image or clip, re-encoded."""
    try:
        content = searcher.gallery(modality).media(id)
    except (KeyError, OSError) as error:
        raise HTTPException(404, "there is no such item") from error
    if not content:
        raise HTTPException(404, "the item has no file")
    return _picture(content) if modality == "image" else _sound(content)


def _picture(content: bytes) -> Response:
    image, stream = read_image(content, "the picture"), io.BytesIO()
    image.thumbnail((SIDE, SIDE))
    image.save(stream, "JPEG", quality=85)
    return Response(stream.getvalue(), media_type="image/jpeg")


def _sound(content: bytes) -> Response:
    samples, stream = read_speech(content, "the recording"), io.BytesIO()
    soundfile.write(stream, samples.numpy(), RATE, format="WAV")
    return Response(stream.getvalue(), media_type="audio/wav")

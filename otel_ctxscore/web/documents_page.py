"""The view Documents: what was retrieved how often, and whether it was worth its place."""

from __future__ import annotations

from aiohttp import web

from otel_ctxscore.core.history import DocumentUse
from otel_ctxscore.web.history_api import DOCUMENT_PARAMETERS, documents_of
from otel_ctxscore.web.questions import BadQuestion
from otel_ctxscore.web.rendering import page, pages, query
from otel_ctxscore.web.status import Status

ROWS = 50


def routes(status: Status) -> list[web.RouteDef]:
    """`/documents`, with the parameters of `GET /api/v1/documents`."""

    async def documents(request: web.Request) -> web.Response:
        given = {name: request.query.get(name, "") for name in DOCUMENT_PARAMETERS}
        rows: list[DocumentUse] = []
        more = False
        trouble: BadQuestion | None = None
        try:
            rows = await documents_of(status, request, limit=ROWS)
            more = len(rows) == int(given["limit"] or ROWS)
        except BadQuestion as refusal:
            trouble = refusal
        return page(
            "documents.html",
            "documents",
            status=400 if trouble else 200,
            given=given,
            rows=rows,
            trouble=trouble,
            filters=query(given),
            by_source=query({**given, "by": "source", "page": ""}),
            **({"first": None, "following": None} if trouble else pages(given, more=more)),
            services=sorted({standing.service for standing in status.snapshot().standings}),
        )

    return [web.get("/documents", documents)]

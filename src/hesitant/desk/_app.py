"""The pages, the JSON behind them, and who may ask: this machine, with the right token."""

import hmac
import json
import os
import re
import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette import responses
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from hesitant._optional import templates
from hesitant._words import percent
from hesitant.desk import _findings
from hesitant.desk._learning import words
from hesitant.desk._sitting import Desk, Refused, reader_name
from hesitant.tables.errors import option

MOST_BYTES = 64 * 1024
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_IMAGES = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg"}
Given = dict[str, Any]
_SAID, _who = ("reader", "row", "answer", "label"), itemgetter("reader", "window")


class Site:
    """The pages, for who asks this machine by its name and knows the token."""

    def __init__(self, desk: Desk, token: str, port: int) -> None:
        self.desk, self.token = desk, token
        self.cookie = f"hesitant_desk_{port}"  # cookies know no ports; desks must not mix them up
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {None, *(f"http://{host}" for host in self.hosts)}
        self.templates = templates("hesitant.desk")
        self.templates.filters["percent"] = percent
        self.templates.globals["words"] = words
        ways: dict[str, Callable[..., Any]] = {
            "GET /": self._home,
            "GET /setup": partial(self._page, "setup"),
            "GET /report": partial(self._page, "report"),
            "GET /part/case": self._part_case,
            "GET /part/report": self._part_report,
            "GET /show/{row:int}": self._image,
            "GET /api/case": lambda given: desk.case(*_who(given)) or {"row": None, "done": True},
            "GET /api/answers": lambda _: {"answers": desk.journal.answers()},
            "GET /api/state": lambda given: _findings.state(desk, given["reader"]),
            "GET /api/export": self._export,
            "POST /api/answer": lambda given: desk.answer(*map(given.get, _SAID)),
            "POST /api/undo": lambda given: {"undone": desk.undo(*_who(given))},
            "POST /api/setup": lambda given: asdict(desk.configure(given)),
        }
        files = Mount("/static", StaticFiles(packages=[("hesitant.desk", "static")]))
        self.app = Starlette(routes=[*(self._route(*way) for way in ways.items()), files])
        self.app.add_middleware(BaseHTTPMiddleware, dispatch=self._respond)

    def _route(self, way: str, do: Callable[..., Any]) -> Route:
        method, path = way.split()

        async def endpoint(request: Request) -> Response:
            given: Any = None
            with suppress(ValueError, RecursionError):  # JSON may hold anything
                given = json.loads(await request.body() or b"{}")
            if not isinstance(given, dict):
                raise Refused("The request's body is no JSON object: send {}, or leave it out.")
            asked = {"window": "", **request.query_params, **given}
            asked["reader"] = reader_name(asked.get("reader") or self.desk.reader)
            asked["window"] = str(asked["window"])[:40]
            found = await run_in_threadpool(do, asked, **request.path_params)
            return found if isinstance(found, Response) else JSONResponse(found)

        return Route(path, endpoint, methods=[method])

    async def _respond(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        try:
            response = self._welcome(request) or await call_next(request)
        except (ValueError, TypeError) as error:  # what is refused is told in a sentence
            response = JSONResponse({"error": str(error)}, getattr(error, "status", 400))
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        return response

    def _welcome(self, request: Request) -> Response | None:
        """Refuse strangers; send a browser that brings the token on, with a cookie instead."""
        headers, query = request.headers, request.query_params
        if headers.get("host") not in self.hosts:
            raise Refused("The desk answers only to the address it printed.", 403)
        # other ports of this machine are the same site to a browser, not to us
        foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if foreign or headers.get("origin") not in self.origins:
            raise Refused("Another site may not ask the desk.", 403)
        if headers.get("content-type", "").startswith("multipart/"):
            raise Refused("The desk takes no files.", 415)
        if int(headers.get("content-length", 0)) > MOST_BYTES or "transfer-encoding" in headers:
            raise Refused("The request is too large.", 413)
        if self._is_token(query.get("token", "")):
            path = request.url.path
            if path.startswith("/api/") or "text/html" not in headers.get("accept", ""):
                return None
            # an address with the token would stay in the history
            rest = urlencode([(k, v) for k, v in query.multi_items() if k != "token"])
            found = responses.RedirectResponse(f"{path}?{rest}", 303)
            found.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            return found
        if self._is_token(request.cookies.get(self.cookie, "")):
            return None
        raise Refused("The token is missing or wrong: use the address that the desk printed.", 401)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def _page(self, name: str, given: Given, **known: Any) -> Response:
        known |= {"desk": self.desk, "reader": given["reader"]}
        return responses.HTMLResponse(self.templates.get_template(f"{name}.html.j2").render(known))

    def _home(self, given: Given) -> Response:
        if self.desk.confirmed:
            return self._page("desk", given)
        return responses.RedirectResponse(f"/setup?{urlencode({'reader': given['reader']})}", 303)

    def _part_case(self, given: Given) -> Response:
        case = self.desk.case(*_who(given))
        own = self.desk.journal.answers("undone IS NULL AND reader = ?", given["reader"])
        known: Given = {"case": case, "n": len(own)}
        if case is not None:
            _, model = self.desk.ready()
            known["ranges"] = _findings.ranges(model, case["row"])
            known["place"] = _findings.place(model, case["row"])
            known["show"] = self._shown(case["show"])
        return self._page("case", given, **known)

    def _part_report(self, given: Given) -> Response:
        _, model = self.desk.ready()
        found, answers = _findings.state(self.desk, given["reader"]), self.desk.journal.answers()
        curves = [_findings.hesitation(answers, model, name) for name in found["readers"]]
        boundary = _findings.boundary(model, self.desk.before)
        return self._page("findings", given, state=found, curves=curves, boundary=boundary)

    def _shown(self, cell: str | None) -> tuple[str, Any]:
        """Return what the expert looks at: a link, a text, or a file in the table's folder."""
        if re.match(r"https?://", cell or "", re.I):
            return "link", cell
        if Path((cell or "")[-20:]).suffix.lower() not in _IMAGES | {".txt"}:
            return "text", cell
        folder = self.desk.path.parent
        with suppress(OSError, ValueError):
            path = (folder / str(cell)).resolve()
            if path.is_relative_to(folder) and path.is_file():
                if path.suffix.lower() in _IMAGES:
                    return "image", path
                with path.open(encoding="utf-8", errors="replace") as file:
                    return "text", file.read(20_000)
        return "missing", cell

    def _image(self, given: Given, row: int) -> Response:
        data, _ = self.desk.ready()
        kind, path = self._shown(data.shown[row] if row < len(data.shown) else None)
        if kind != "image":
            raise Refused("There is no such image in the table's folder.", 404)
        alone = {"Content-Security-Policy": "default-src 'none'; sandbox"}
        return responses.FileResponse(path, headers=alone)

    def _export(self, given: Given) -> Response:
        name = re.sub(r"[^\w.-]", "_", f"{self.desk.name}.desk.zip", flags=re.ASCII)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        packed = _findings.archive(self.desk)
        return Response(packed, media_type="application/zip", headers=headers)


def make_app(desk: Desk, token: str, port: int) -> Starlette:
    """Return the desk as an ASGI application.

    Every request must carry the ``token``, as ``?token=`` or in the cookie that it sets, and ask
    for the ``port`` on 127.0.0.1; other hosts are refused.
    """
    return Site(desk, token, port).app


def serve(desk: Desk, *, port: int = 0, browser: bool = True) -> None:
    """Serve a desk on 127.0.0.1 until interrupted, on any free port by default."""
    try:
        listening = socket.create_server(("127.0.0.1", port), backlog=128)
    except OSError as error:
        why = os.strerror(error.errno or 0).lower()
        remedy = f"Give another {option('port')}, or 0 for any that is free."
        raise ValueError(f"Port {port} cannot be opened: {why}. {remedy}") from error
    port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    # no access log: it would write the token down
    quiet: Given = {"access_log": False, "log_level": "warning", "server_header": False}
    server = uvicorn.Server(uvicorn.Config(make_app(desk, token, port), **quiet))
    # the first case is then chosen, not drawn, and does not wait while kernels are compiled
    desk.worker.settle(timeout=20)
    address = f"http://127.0.0.1:{port}/?token={token}"
    print(f"Desk: {address}", flush=True)
    print(f"Answers go to {desk.journal.path}. Stop with Ctrl-C.", flush=True)
    if browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    server.run(sockets=[listening])

"""A visitor of the pages, without a browser: signs in, keeps the cookie, sends forms with their token."""

import asyncio
import secrets
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from asgi import Api, Reply
from takeup.service import people
from takeup.service.callers import Caller
from takeup.service.pages.render.child import render_trial
from takeup.service.pages.render.process import Rendered, RenderError, RenderProcess, RenderTask
from takeup.service.people import Person
from takeup.service.sessions import form_token

FORM = "application/x-www-form-urlencoded"
TRY = {"follow_usual": "90", "follow_new": "60", "fare_usual": "40", "fare_new": "60", "unlike": "0"}
"""The sliders of the sandbox."""

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


PASSWORD = "correct horse battery staple"


class Visitor:
    """Somebody who has signed in, with a new key of these scopes unless it is somebody else."""

    def __init__(self, api: Api, *scopes: str, trials: list[str] | None = None, caller: Caller | None = None) -> None:
        self.api = api
        service = api.app.state.service
        if caller is None:
            caller = api.run(service.keys.find(api.key(*scopes, trials=trials)))
        self.cookie = api.run(service.sessions.begin(caller))
        self.headers = {"cookie": f"takeup={self.cookie}"}

    def get(self, path: str) -> Reply:
        """Look at a page."""
        return self.api.request("GET", path, headers=self.headers)

    def post(self, path: str, fields: dict[str, str], token: str | None = None) -> Reply:
        """Send a form."""
        return self.api.run(self.sent(path, fields, token))

    async def sent(self, path: str, fields: dict[str, str], token: str | None = None) -> Reply:
        """Send a form, in the loop."""
        content = {**fields, "form_token": form_token(self.cookie) if token is None else token}
        headers = {**self.headers, "content-type": FORM}
        return await self.api.asked("POST", path, raw=urlencode(content).encode(), headers=headers)


def person(
    api: Api, *roles: str, trials: list[str] | None = None, password: str | None = None, name: str = "Ada Byron"
) -> Person:
    """Somebody new with these roles; one who signs in or signs needs a password."""
    accounts = api.app.state.service.people
    login = f"{secrets.token_hex(4)}@clinic.example"
    made = people.new(name, login, roles, trials, at=api.store.clock(), by="test")
    token = api.run(accounts.add(made))
    if password is None:
        return made
    accepted: Person = api.run(accounts.accept(token, password))
    return accepted


def member(api: Api, *roles: str, trials: list[str] | None = None, password: str | None = None) -> Visitor:
    """Somebody new with these roles, signed in."""
    return Visitor(api, caller=person(api, *roles, trials=trials, password=password))


class RenderHere(RenderProcess):
    """Renders in a thread of this process: to start another takes a second, which few tests are about."""

    async def ask(self, task: RenderTask) -> Rendered:
        """Have a task done; one at a time."""
        async with self._turn:
            try:
                return await asyncio.to_thread(render_trial, task)
            except Exception as error:
                raise RenderError(f"{type(error).__name__}: {error}") from error


class Parsed(HTMLParser):
    """A page as a reader of HTML sees it; fails where elements are not closed as they were opened.

    Attributes:
        tags: the elements, in their order.
        scripts: what scripts there are.
        handlers: attributes that a browser would run, and styles of single elements, which the policy forbids.
        texts: all texts outside of scripts and styles.
        attributes: the values of all attributes.
        controls: (name, value) of the inputs.
        ids: of all elements.
        described: what labels and descriptions point to.
        unlabelled: inputs that need a label.
    """

    def __init__(self, body: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.scripts: list[str | None] = []
        self.handlers: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[str] = []
        self.controls: list[tuple[str, str | None]] = []
        self.ids: list[str] = []
        self.described: list[str] = []
        self.unlabelled: list[str] = []
        self.feed(body.decode())
        self.close()
        assert not self.open, f"never closed: {self.open}"
        assert len(set(self.ids)) == len(self.ids), "an id is there twice"
        assert set(self.described) <= set(self.ids), set(self.described) - set(self.ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        given = dict(attrs)
        self.tags.append(tag)
        assert len(given) == len(attrs), f"an attribute twice in {tag}: {attrs}"
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append(given.get("src"))
        for name, value in attrs:
            self.attributes.append(value or "")
            run = name.startswith("on") or name == "style" or (value or "").strip().lower().startswith("javascript:")
            if run and name != "value":
                self.handlers.append(f"{tag} {name}={value}")
        if given.get("id"):
            self.ids.append(given["id"] or "")
        self.described += (given.get("aria-describedby") or "").split() + (given.get("aria-labelledby") or "").split()
        if tag == "label" and given.get("for"):
            self.described.append(given["for"] or "")
        if tag in ("input", "select", "textarea") and given.get("name"):
            self.controls.append((given["name"] or "", given.get("value")))
            if given.get("type") != "hidden" and "aria-label" not in given:
                self.unlabelled.append(given.get("id") or given["name"] or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of a drawing that has nothing inside."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> where {self.open[-1]} is open"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        """A text."""
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All that a reader sees."""
        return "".join(self.texts)

    def value(self, name: str) -> str | None:
        """What an input holds."""
        return dict(self.controls).get(name)


def harmless(reply: Reply) -> Parsed:
    """The page, which must be whole and run nothing but the service's own scripts."""
    page = Parsed(reply.body)
    assert not page.handlers, page.handlers
    assert all(source is not None and source.startswith("/app/static/") for source in page.scripts), page.scripts
    return page


def choose(**fields: Any) -> dict[str, str]:
    """A form of a new trial, with these fields changed."""
    whole = {
        "by": "form",
        "name": "Tea",
        "proposals": "tea\ncoffee",
        "outcome-0": "bad",
        "utility-0": "0",
        "outcome-1": "good",
        "utility-1": "1",
        "policy": "TS-Obs",
        "compliance": "always",
        "decisions": "one",
        "floor": "0",
        "ceiling": "100",
        "burn_in": "0",
    }
    return {**whole, **{name.replace("__", "-"): str(value) for name, value in fields.items()}}

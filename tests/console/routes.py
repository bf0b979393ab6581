"""The routes of an application, with what each of them declares of whom it answers."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from keepstep.console.access import Needs
from keepstep.contracts.taxonomy import Role


def dependencies(dependant: Dependant) -> list[Dependant]:
    return [dependant, *(inner for one in dependant.dependencies for inner in dependencies(one))]


def calls(route: APIRoute) -> list[Callable[..., Any] | None]:
    """Return everything that a route asks for before it answers."""
    return [one.call for one in dependencies(route.dependant)]


def role_of(route: APIRoute) -> Role | None:
    """Return the highest role that a route declares."""
    declared = [one.role for one in calls(route) if isinstance(one, Needs)]
    return max(declared, key=tuple(Role).index, default=None)


def asked_of(app: FastAPI) -> list[tuple[str, str, Any]]:
    """Return method, path and route of everything that the application answers, however deep it was included."""
    return [
        (method, str(one.path), one.original_route)
        for one in iter_route_contexts(app.routes)
        for method in sorted(getattr(one.original_route, "methods", None) or {"GET"})
        if method != "HEAD"
    ]


def place_of(path: str) -> str:
    """Return a path that leads to a route, with names of which there are none."""
    return path.replace(":path}", "}").translate(str.maketrans("{}", "xx"))


def goes_on(route: object) -> bool:
    """Return whether a route answers with a stream, which has no end."""
    return "EventStream" in str(getattr(route, "response_class", ""))

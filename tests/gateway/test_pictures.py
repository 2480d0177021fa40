"""Every page has a picture in the documentation, or a reason for having none."""

from __future__ import annotations

from fastapi.routing import APIRoute

from checkvalve.gateway import web_pages
from tests.gateway.pictures import NO_PICTURE, PICTURES, SHOWN, of


def test_every_page_has_a_picture_or_a_reason_for_none() -> None:
    routers = web_pages._ROUTERS
    found = {route.path for one in routers for route in one.routes if isinstance(route, APIRoute) and _is_get(route)}
    assert found - set(PICTURES.values()) - set(NO_PICTURE) == set(), "take a picture of it in a browser test"
    assert NO_PICTURE.keys() <= found


def _is_get(route: APIRoute) -> bool:
    return "GET" in (route.methods or ())


def test_every_picture_is_there_and_of_a_page() -> None:
    there = {file.stem for file in SHOWN.glob("*.png")}
    assert {of(name) for name in there} == set(PICTURES), "SCREENSHOTS=1 takes them"

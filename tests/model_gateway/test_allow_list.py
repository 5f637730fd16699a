"""Which requests an API's list lets out."""

from __future__ import annotations

import pytest

from enpire.model_gateway.allow_list import Refused, Upstream, route

LISTED = Upstream("model", "http://127.0.0.1:1", ("POST /v1/messages",))
NONE = Upstream("model", "http://127.0.0.1:1")


def test_what_is_listed_goes_out() -> None:
    assert route((LISTED,), "POST", "/model/v1/messages") == (LISTED, "/v1/messages")


@pytest.mark.parametrize(
    ("upstream", "method", "target"),
    [
        (NONE, "POST", "/model/v1/messages"),
        (NONE, "GET", "/model/"),
        (LISTED, "GET", "/model/v1/messages"),
        (LISTED, "POST", "/model/v1/files"),
        (LISTED, "POST", "/other/v1/messages"),
    ],
)
def test_all_else_is_refused_and_an_empty_list_allows_nothing(
    upstream: Upstream, method: str, target: str
) -> None:
    with pytest.raises(Refused, match=f"{method} {target} is not allowed"):
        route((upstream,), method, target)

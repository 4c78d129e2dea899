"""Cookies, always out of reach of scripts, and for HTTPS only where the study is served over HTTPS."""

from typing import Literal

from flask import Response, request


def set_cookie(
    response: Response, name: str, value: str, *, max_age_s: int, samesite: Literal["Lax", "Strict"], path: str = "/"
) -> None:
    """Send a cookie with a response."""
    # Behind a proxy that ends HTTPS only this header tells; a forged one can do no more than keep the cookie back.
    is_https = request.is_secure or request.headers.get("X-Forwarded-Proto") == "https"
    response.set_cookie(name, value, max_age=max_age_s, httponly=True, samesite=samesite, secure=is_https, path=path)

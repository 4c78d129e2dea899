"""Bodies of requests: JSON, read into checked models, or forms; refused with a sentence that says why."""

from typing import TypeVar

from flask import request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException, UnsupportedMediaType

from batteries.reading import describe

BODY_TYPES = frozenset({"application/json", "application/x-www-form-urlencoded"})
"""What our requests are made of; a body of another type is not read."""

Model = TypeVar("Model", bound=BaseModel)


class BadRequest(HTTPException):
    """A request whose body does not fit; the description says why."""

    code = 422


def read_field(name: str) -> str:
    """Return a field of the request's form, or nothing if it is not there.

    Raises
    ------
    UnsupportedMediaType
        If the body is JSON and no form.
    """
    if request.mimetype == "application/json":
        raise UnsupportedMediaType("The request must be a form.")
    return request.form.get(name, "")


def read_body(model: type[Model]) -> Model:
    """Return the request's body as a model.

    Raises
    ------
    UnsupportedMediaType
        If it does not say that it is JSON.
    BadRequest
        If it is not JSON, or does not fit.
    """
    # A form on another site can post to us with the participant's cookie, but not with this content type.
    if request.mimetype != "application/json":
        raise UnsupportedMediaType("The request must be application/json.")
    try:
        return model.model_validate_json(request.get_data(), strict=True)
    except ValidationError as error:
        raise BadRequest(describe(error, model)) from None

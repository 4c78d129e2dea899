"""Bodies of requests: JSON, read into checked models, or refused with a sentence that says why."""

from typing import TypeVar

from flask import request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException

from batteries.reading import describe

Model = TypeVar("Model", bound=BaseModel)


class BadRequest(HTTPException):
    """A request whose body does not fit; the description says why."""

    code = 422


def read_body(model: type[Model]) -> Model:
    """Return the request's body as a model.

    Raises
    ------
    BadRequest
        If it is not JSON, or does not fit.
    """
    # A form on another site can post to us with the participant's cookie, but not with this content type.
    if request.mimetype != "application/json":
        raise BadRequest("The request must be application/json.")
    try:
        return model.model_validate_json(request.get_data(), strict=True)
    except ValidationError as error:
        raise BadRequest(describe(error, model)) from None

"""The dashboard: the researchers' page on the progress of the data collection, and its stream of events."""

from collections.abc import Sequence

from flask import Blueprint, Flask, Response, current_app, render_template, request

from experiment.records import Kind
from server.context import Context, context
from server.event_stream import event_stream
from server.researchers.done import DONE
from server.researchers.live import LiveDashboard
from server.researchers.overview import overview
from server.researchers.signed_in import SignIn, ended_sign_ins, require_role
from server.store import Role

dashboard = Blueprint("dashboard", __name__)

_EXTENSION = "equipoise_dashboard"


def add_live_dashboard(app: Flask, parts: Context) -> None:
    """Give an application the one computation of the dashboard for all open pages."""

    def render() -> str:
        with app.app_context():
            study = parts.study
            found = overview(parts.store.monitored(study), study.definition.recruitment)
            return render_template("dashboard-live.html", found=found, recruitment=study.definition.recruitment)

    def ended(sign_ins: Sequence[SignIn]) -> set[str]:
        with app.app_context():
            return ended_sign_ins(sign_ins)

    app.extensions[_EXTENSION] = LiveDashboard(render, ended)


def live_dashboard() -> LiveDashboard:
    """Return the dashboard of the application that serves this request."""
    found: LiveDashboard = current_app.extensions[_EXTENSION]
    return found


@dashboard.get("/")
def progress() -> str:
    """Show the progress of the data collection, and the forms that change it."""
    sign_in = require_role(Role.VIEWER)
    return dashboard_page(sign_in, done=DONE.get(request.args.get("done", "")))


def dashboard_page(sign_in: SignIn, problem: str | None = None, done: str | None = None) -> str:
    """Return the dashboard, with the result of the last action."""
    study = context().study
    return render_template(
        "dashboard.html",
        study=study,
        sign_in=sign_in,
        may_change=sign_in.role.includes(Role.RESEARCHER),
        live_html=live_dashboard().current().html,
        groups=[group for group in context().store.progress(study) if group.kind is Kind.HUMAN],
        problem=problem,
        done=done,
    )


@dashboard.get("/live")
def live() -> Response:
    """Send the numbers of the dashboard whenever they change, as server-sent events."""
    sign_in = require_role(Role.VIEWER)
    found = live_dashboard()
    found.refuse_more_streams()
    return event_stream(found.current().event, found.events(sign_in))

"""Point on the pay per hour, for the estimated duration of a session."""

from equipoise.commands.check.checklist import Point, not_checked
from equipoise.commands.check.duration import estimated_duration
from experiment.study.definition import Study

LEAST_PER_HOUR = {"GBP": 6.0, "USD": 8.0}
"""Prolific's minimum payment per hour, by currency."""


def pay_point(study: Study) -> Point:
    """Name the least fair payment, because study.yaml does not state the payment."""
    estimate = estimated_duration(study)
    if estimate is None:
        return not_checked(
            "Pay", "the duration is not known.", "measure the duration in a pilot, and pay for this time."
        )
    hours = estimate.whole_minutes / 60
    least = " or ".join(f"{wage * hours:.2f} {currency}" for currency, wage in LEAST_PER_HOUR.items())
    per_hour = " or ".join(f"{wage:g} {currency}" for currency, wage in LEAST_PER_HOUR.items())
    return not_checked(
        "Pay",
        f"study.yaml does not state the payment. For about {estimate.whole_minutes} minutes, Prolific's minimum of "
        f"{per_hour} per hour is {least}.",
        "compare this with the payment of your panel.",
    )

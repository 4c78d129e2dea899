"""Point on the pay per hour, for the estimated duration of a session."""

from equipoise.commands.check.checklist import Point, failed, needs_attention, not_checked, passed
from equipoise.commands.check.duration import LARGEST_RATIO, estimated_duration
from experiment.study.definition import Study
from experiment.study.prolific import LEAST_WAGE_PER_HOUR


def pay_point(study: Study) -> Point:
    """Compare the payment for the estimated duration with the minimum wage of Prolific."""
    subject, estimate = "Pay", estimated_duration(study)
    if estimate is None:
        return not_checked(
            subject, "the duration is not known.", "measure the duration in a pilot, and pay for this time."
        )
    hours, about = estimate.whole_minutes / 60, f"{estimate.whole_minutes} minutes"
    pay = study.definition.recruitment.prolific
    if pay is None:
        least = " or ".join(f"{wage * hours:.2f} {currency}" for currency, wage in LEAST_WAGE_PER_HOUR.items())
        per_hour = " or ".join(f"{wage:g} {currency}" for currency, wage in LEAST_WAGE_PER_HOUR.items())
        return not_checked(
            subject,
            f"study.yaml does not state the payment. For about {about}, Prolific's minimum of {per_hour} per hour is "
            f"{least}.",
            "compare this with the payment of your panel.",
        )
    reward = pay.reward_cents / 100
    minimum = LEAST_WAGE_PER_HOUR[pay.currency]
    found = (
        f"{reward:.2f} {pay.currency} for about {about} are {reward / hours:.2f} {pay.currency} per hour; Prolific's "
        f"minimum is {minimum:g} {pay.currency}."
    )
    if pay.reward_cents * 60 < minimum * 100 * estimate.whole_minutes:  # Whole numbers, without rounding errors.
        return failed(
            subject, found, "raise `minutes` or `wage_per_hour` under `recruitment.prolific`, or shorten the study."
        )
    if not pay.minutes / LARGEST_RATIO <= estimate.minutes <= pay.minutes * LARGEST_RATIO:
        return needs_attention(
            subject,
            f"{found} But `recruitment.prolific` states {pay.minutes} minutes.",
            "measure the duration in a pilot, and correct `minutes`.",
        )
    return passed(subject, found)

"""Sentences that confirm a researcher's action on the page that is shown after it."""

DONE = {
    "group-opened": "The group is open for new participants.",
    "group-closed": "The group is closed for new participants. Sessions under way continue.",
    "study-paused": "All groups are closed for new participants. Sessions under way continue.",
    "study-resumed": "All groups are open for new participants.",
    "quota-extended": "The slots were added to the quota.",
    "session-excluded": "The session is excluded from the analysis. Its responses stay, and its slot is free.",
    "session-included": "The session is in the analysis again.",
    "slot-released": "The slot is free for another participant. The responses stay.",
    "responses-deleted": (
        "The responses of this participant are deleted. For a session of the laboratory, also run `equipoise withdraw` "
        "on the laboratory's machine, which deletes its files."
    ),
}
"""The sentences by the name in the address of the page."""

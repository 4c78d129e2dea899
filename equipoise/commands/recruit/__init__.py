"""Commands for recruitment panels: the study at Prolific, reconciliation, approvals, rejections and bonuses."""

"""An oTree project: consent, 26 trials with radio buttons, an end."""

SESSION_CONFIGS = [{"name": "study", "app_sequence": ["welcome", "trials", "thanks"], "num_demo_participants": 1}]
SESSION_CONFIG_DEFAULTS = {"real_world_currency_per_point": 1.00, "participation_fee": 0.00, "doc": ""}
LANGUAGE_CODE = "en"
ADMIN_USERNAME = "admin"
ADMIN_PASSWORD = None
SECRET_KEY = "only for a benchmark on this machine"  # noqa: S105

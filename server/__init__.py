"""The Flask application, the store, and the process that serves them.

`app` builds the application from one blueprint per audience (`participants`, `researchers`, `laboratory`, `health`).
All blueprints share a `context`. `participants/participant_auth` identifies participants,
`participants/attention_checks` applies the rule for attention checks, and `security/rate_limits` limits requests.
`store/` stores the responses. `serve` starts the production server, and each of its processes runs the application
(`worker`). `locations` finds a study's store and secrets.
"""

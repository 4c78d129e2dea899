"""The Flask application, the store, and the processes of the server.

`app` builds the application from one blueprint per audience (`participants`, `researchers`, `laboratory`, `health`).
All blueprints share a `context`. `participants/participant_auth` identifies participants,
`participants/attention_checks` applies the rule for attention checks, and `security/rate_limits` limits requests.
`store/` stores the responses. `serve` starts the production server. Each process of the server runs the application
(`worker`). `locations` finds the store and the secrets of a study.
"""

"""The Flask application, the store, and the processes of the server.

`app` builds the application from one blueprint per audience (`participants`, `researchers`, `laboratory`, `health`).
The views of all blueprints use the study, the store and the settings in `context`. `participants/participant_auth`
identifies participants, `participants/attention_checks` applies the rule for attention checks, and
`security/rate_limits` limits requests. `store/` stores the responses. `serve` starts the production server. Each
process of the server runs the application (`worker`). `locations` returns the paths of a study's store and secrets.
"""

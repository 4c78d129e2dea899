"""Where answers go: the Flask application, the store, and the process that serves them.

`app` puts the application together from one blueprint per audience (`participants`, `researchers`, `operations`), which
share a `context`; `entry` lets people in, `attention` says whether they passed the checks, `limits` keeps floods away;
`store/` keeps what was answered and loses none of it; `serving` runs the application, with its `settings`, under a
production server.
"""

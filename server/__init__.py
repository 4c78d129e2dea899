"""Where answers go: the Flask application, the store, and the process that serves them.

`app` puts the application together from one blueprint per audience (`participants`, `researchers`); `store/` keeps
what was answered and loses none of it; `serving` runs the application under a production server.
"""

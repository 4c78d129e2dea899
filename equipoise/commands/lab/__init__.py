"""The laboratory's commands: run a session, check the machine, and upload sessions to a server.

`run` runs a participant's session in a PsychoPy window. `check` checks the machine. `upload` uploads stored sessions to
a server or to another store. `syncing_client` uploads a session while it runs, with the states in `session_upload`.
`clients` opens the store on this machine and the connection to a server. `files` writes and deletes the laboratory's
files.
"""

"""Imports of the programs with a window, made once in the fork server.

To import PsychoPy takes some seconds. Each program is a fork of a process that has imported it. No connection to a
display may be older than the fork, because two processes cannot share one: pyglet's hidden window is opened after the
fork, and `pygletbackend`, which opens a connection on import, is imported then.
"""

import pyglet

pyglet.options["shadow_window"] = False

import experiment.lab.hardware.machine_check  # noqa: E402
import experiment.lab.psychopy_display  # noqa: E402, F401

pyglet.options["shadow_window"] = True

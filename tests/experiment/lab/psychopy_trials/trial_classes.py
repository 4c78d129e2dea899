"""Classes of the tests that draw trials; the code is a text, as in a study."""

FLAG = '''
import json
from pathlib import Path

from equipoise import PsychoPyTrial
from psychopy import visual
from pyglet import gl

DRAWN = Path(__file__).with_name("drawn.jsonl")


class Flag(PsychoPyTrial):
    """Red in the first frame, then green, blue, green, ...; each call is noted in a file."""

    keys = {"f": "flag", "space": None}

    def __init__(self, window, parameters):
        self.n_pressed = 0
        self.all = visual.Rect(window, width=window.size[0] + 2, height=window.size[1] + 2, lineWidth=0)

    def draw(self, t_ms):
        with DRAWN.open("a") as file:
            file.write(json.dumps(t_ms) + "\\n")
        n = round(t_ms / 10)
        self.all.fillColor = "red" if n == 0 else ("lime" if n % 2 else "blue")
        self.all.draw()

    def response(self, press):
        self.n_pressed += 1
        return {"name": self.keys[press.key], "n_pressed": self.n_pressed} if press.key == "f" else None


class Careless(Flag):
    """Changes every setting on which drawing can depend, and changes nothing back."""

    def draw(self, t_ms):
        super().draw(t_ms)
        window = self.all.win
        window.units, window.blendMode, window.viewPos, window.viewOri = "norm", "add", (0.1, 0.1), 30
        window.color = "yellow"
        gl.glEnable(gl.GL_SCISSOR_TEST)
        gl.glScissor(0, 0, 50, 50)
        gl.glViewport(10, 10, 20, 20)
        gl.glColorMask(False, True, False, True)
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glPixelStorei(gl.GL_UNPACK_ROW_LENGTH, 7)
        gl.glPixelStorei(gl.GL_UNPACK_ALIGNMENT, 8)
        gl.glPixelTransferf(gl.GL_RED_SCALE, 0.5)
        gl.glUseProgram(window._shaders["signedTexMask"])
        gl.glActiveTexture(gl.GL_TEXTURE1)
        gl.glDrawBuffer(gl.GL_FRONT)
        gl.glReadBuffer(gl.GL_FRONT)
        buffer, framebuffer = gl.GLuint(), gl.GLuint()
        gl.glGenBuffers(1, buffer)
        gl.glBindBuffer(gl.GL_PIXEL_UNPACK_BUFFER, buffer)
        gl.glGenFramebuffers(1, framebuffer)
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, framebuffer)
'''

_HEADER = "from equipoise import PsychoPyTrial\nfrom psychopy import core, visual\n\n\n"
_BODY = "class Bad(PsychoPyTrial):\n    keys = {'f': 'a'}\n\n    def draw(self, t_ms):\n        "


def bad(code: str = "", **replaced: str) -> str:
    """Return the code of a class `Bad`, with a line of `draw` or with parts replaced."""
    text = f"{_HEADER}{_BODY}{code or 'pass'}\n"
    for before, after in replaced.items():
        text = text.replace({"keys": "{'f': 'a'}", "parent": "(PsychoPyTrial)", "draw": "def draw"}[before], after)
    return text


BAD: dict[str, tuple[str, str]] = {
    "syntax": ("class Bad(:\n", "bad.py, line 1: the file failed (SyntaxError: invalid syntax"),
    "import": ("import no_such_package\n", "bad.py, line 1: the file failed (ModuleNotFoundError: No module named"),
    "absent": ("x = 1\n", "bad.py: the file has no class `Bad`. Fix: write the name of the class as `class_name`"),
    "parent": (bad(parent=""), "bad.py: `Bad` does not inherit from `PsychoPyTrial`. Fix: write `from equipoise"),
    "no-draw": (bad(draw="def paint"), "bad.py: the class `Bad` has no method `draw`. Fix: write `def draw(self, t_"),
    "draw": (
        bad("1 / 0"),
        "bad.py, line 9: `Bad.draw` of the item `q1` failed (ZeroDivisionError: division by zero). Fix",
    ),
    "flip": (bad("self.window.flip()"), "`Bad.draw` of the item `q1` failed (RuntimeError: Equipoise flips the window"),
    "quit": (bad("raise SystemExit"), "bad.py, line 9: `Bad.draw` of the item `q1` failed (SystemExit). Fix"),
    "signature": (bad(draw="def draw(self): pass\n    def other"), "failed (TypeError: Bad.draw() takes 1 positional"),
    "no-key": (bad(keys="{}"), "bad.py: item `q1`, class `Bad`: no key and no click can give a response. Fix: add"),
    "enter": (bad(keys="{'enter': 'a'}"), "PsychoPy has no key `enter`. Fix: use `return`."),
    "capital": (bad(keys="{'A': 'a'}"), "PsychoPy has no key `A`. Fix: use `a`."),
    "escape": (bad(keys="{'escape': 'a'}"), "the key `escape` is not free: participants leave"),
    "not-json": (
        bad("pass\n\n    def response(self, press):\n        return {press.key}"),
        "`Bad.response` of the item `q1` failed (TypeError: Object of type set is not JSON serializable). Fix",
    ),
    "nan": (
        bad("pass\n\n    def response(self, press):\n        return float('nan')"),
        "`Bad.response` of the item `q1` failed (ValueError: Out of range float values",
    ),
    "unlisted": (
        bad("pass\n\n    def response(self, press):\n        return press.rt_ms"),
        "bad.py: item `q1`: the response 400.0 is none of the item's `answers`: `a`, `b`. Fix: use one of",
    ),
    "answer": (
        bad(keys="{'f': 'c'}"),
        "bad.py: item `q1`: the response 'c' is none of the item's `answers`: `a`, `b`.",
    ),
}
"""Codes with a mistake, and the sentence about it."""

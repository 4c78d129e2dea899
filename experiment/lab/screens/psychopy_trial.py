"""`psychopy` on the screen: an empty background, over which a class of the study draws, and then the feedback."""

from experiment.lab.screens.layout.canvas import Canvas
from experiment.lab.screens.layout.column import ScreenColumn
from experiment.lab.screens.layout.screen_image import ScreenImage
from experiment.lab.screens.layout.sheet import Sheet
from experiment.lab.screens.trial_header import TrialMoment, add_feedback


def psychopy_trial(sheet: Sheet, moment: TrialMoment) -> ScreenImage:
    """Draw the background of a trial; after the response to a practice trial, draw the feedback."""
    canvas = Canvas(sheet)
    if moment.feedback is not None:
        panel = ScreenColumn(sheet, sheet.column_px)
        add_feedback(panel, moment.feedback, moment.actions, sheet.body_px)
        width_px, height_px = sheet.size_px
        panel.draw(canvas, (width_px - sheet.column_px) // 2, (height_px - panel.height_px) // 2)
    return canvas.picture()

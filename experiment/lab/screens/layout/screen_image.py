"""One screen: the image, and the clickable regions and texts of the image."""

from dataclasses import dataclass

from PIL import Image

ESCAPE = "escape"
"""Name of the key with which a participant asks to leave, and of the clickable region with the same effect."""
RULES = "f1"
"""Name of the key that opens the rules during a trial, and of the clickable region with the same effect."""
Box = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels from the top left of the image. The pixels at right and bottom are outside."""


@dataclass(frozen=True)
class Region:
    """A clickable region."""

    name: str
    """Name of the effect of a click, such as `2` for the second option, `west-5` or `next`."""
    box_px: Box
    follows_drag: bool = False
    """True if a movement of the mouse with its button held down acts as a click, as on a slider."""


@dataclass(frozen=True)
class Written:
    """A line of text, and its box."""

    text: str
    box_px: Box


@dataclass(frozen=True)
class VideoPlace:
    """A box in which the window plays a video."""

    number: int
    """Position of the video among the parts of the stimulus, from 0."""
    box_px: Box


@dataclass(frozen=True)
class ScreenImage:
    """One screen."""

    image: Image.Image
    """RGB image of the exact size of the window."""
    regions: tuple[Region, ...]
    written: tuple[Written, ...]
    """All text of the image, in reading order."""
    videos: tuple[VideoPlace, ...] = ()
    """Boxes in which the window plays videos."""
    changed_px: Box | None = None
    """Box outside of which the image equals the image that was shown before; None if they may differ anywhere."""

    def region_at(self, x_px: float, y_px: float) -> str | None:
        """Return the name of the region at a point, in px from the top left; None if no region contains the point."""
        for region in self.regions:
            left, top, right, bottom = region.box_px
            if left <= x_px < right and top <= y_px < bottom:
                return region.name
        return None

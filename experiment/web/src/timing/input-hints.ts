/** Whether hints for the participant should be about touch, or about keys and the mouse. */

/** True if the device has a touch screen but, as far as the browser reports, neither mouse nor touch pad. */
const onlyTouch = matchMedia("(hover: none) and (pointer: coarse) and (not (any-pointer: fine))");

/** True if the last input came from a finger; null before the first input. */
let lastWasTouch: boolean | null = null;

const early = { capture: true, passive: true };
document.addEventListener("pointerdown", ({ pointerType }) => (lastWasTouch = pointerType === "touch"), early);
// The keys of a keyboard on the screen have no position.
document.addEventListener("keydown", ({ code }) => code !== "" && (lastWasTouch = false), early);

/** Returns true if hints should be about touch: the participant last used a finger, or the device has nothing else. */
export function usesTouch(): boolean {
  return lastWasTouch ?? onlyTouch.matches;
}

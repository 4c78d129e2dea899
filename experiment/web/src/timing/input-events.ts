/** The input events that can be responses, and their devices. */
import type { Input } from "../saving/server-api";

/** True if a participant can have meant this event: no held key, none with a modifier, and nothing below an open
 * dialog.
 */
export function isMeant(event: Event): boolean {
  if (event instanceof KeyboardEvent && (event.repeat || event.ctrlKey || event.altKey || event.metaKey)) return false;
  return !document.querySelector("dialog[open]");
}

/** Some browsers' clicks do not name their pointer; the press before them does. */
let lastPointer = "";
document.addEventListener("pointerdown", ({ pointerType }) => (lastPointer = pointerType), { capture: true });

/** Device of an event; null if the browser does not report it. A click without a count of clicks comes from a key. */
export function inputOf(event: Event): Input | null {
  if (event instanceof KeyboardEvent || (event as MouseEvent).detail === 0) return "key";
  const pointer = (event as PointerEvent).pointerType || lastPointer;
  return pointer === "mouse" || pointer === "touch" || pointer === "pen" ? pointer : null;
}

/** A key held down on one page must not press the button of the next. */
export function ignoreHeldKeysOnButtons(): void {
  document.addEventListener(
    "keydown",
    (event) => {
      const pressesButtons = event.key === "Enter" || event.key === " ";
      if (event.repeat && pressesButtons && event.target instanceof HTMLButtonElement) event.preventDefault();
    },
    { capture: true },
  );
}

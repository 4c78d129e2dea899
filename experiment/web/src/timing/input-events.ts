/** The input events that can be responses, and their devices. */
import type { Input } from "../saving/server-api";

/** Returns true if an event can be an intended response. A held key, a key with a modifier, or an event while a dialog is
 * open cannot be an intended response.
 */
export function isMeant(event: Event): boolean {
  if (event instanceof KeyboardEvent && (event.repeat || event.ctrlKey || event.altKey || event.metaKey)) return false;
  return !document.querySelector("dialog[open]");
}

/** Pointer type of the last press. In some browsers the click event itself has no pointer type. */
let lastPointer = "";
document.addEventListener("pointerdown", ({ pointerType }) => (lastPointer = pointerType), { capture: true });

/** Returns the device of an event, or null if the browser does not report it. A click with the count 0 comes from a key. */
export function inputOf(event: Event): Input | null {
  if (event instanceof KeyboardEvent || (event as MouseEvent).detail === 0) return "key";
  const pointer = (event as PointerEvent).pointerType || lastPointer;
  return pointer === "mouse" || pointer === "touch" || pointer === "pen" ? pointer : null;
}

/** Prevents a key that is held down on one page from pressing a button on the next page. */
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

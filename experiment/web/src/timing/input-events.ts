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
/** Time of a press whose click has not come yet. */
let pointerDown_ms: number | null = null;
/** Time at which the pointer was pressed for the last click, or for the first click of a double click. */
let clickBegan_ms = 0;
/** Time at which each key was pressed, without its repetitions. */
const keyDown_ms = new Map<string, number>();

document.addEventListener(
  "pointerdown",
  ({ pointerType, timeStamp }) => {
    lastPointer = pointerType;
    pointerDown_ms = timeStamp;
  },
  { capture: true },
);
document.addEventListener(
  "click",
  ({ detail, timeStamp }) => {
    if (detail <= 1) clickBegan_ms = pointerDown_ms ?? timeStamp; // assistive technology clicks without a press
    pointerDown_ms = null;
  },
  { capture: true },
);
document.addEventListener("keydown", ({ repeat, code, timeStamp }) => repeat || keyDown_ms.set(code, timeStamp), { capture: true });

/** Returns the time at which the action of an event began: the press of the pointer before the click, the first click of
 * a double click, or the press of a key that is held down. An action that began before the onset is not a response.
 */
export function beganAt_ms(event: Event): number {
  if (event instanceof KeyboardEvent) return event.repeat ? (keyDown_ms.get(event.code) ?? -Infinity) : event.timeStamp;
  const isOfPress = event instanceof MouseEvent && (event.detail > 1 || (event.type === "click" && event.detail === 1));
  return isOfPress ? clickBegan_ms : event.timeStamp;
}

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

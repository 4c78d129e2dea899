/** The input events that can be responses, and their devices. */
import type { Input } from "../saving/server-api";

/** Returns true if an event can be an intended response. A held key, a key with a modifier, or an event while a dialog is
 * open cannot be an intended response.
 */
export function isMeant(event: Event): boolean {
  if (event instanceof KeyboardEvent && (event.repeat || event.ctrlKey || event.altKey || event.metaKey)) return false;
  return !document.querySelector("dialog[open]");
}

/** A second press at the same point within this time belongs to a double tap. A click has the browser's own count. */
const DOUBLE_PRESS_MS = 300;
const DOUBLE_PRESS_PX = 30;

/** Pointer type of the last press. In some browsers the click event itself has no pointer type. */
let lastPointer = "";
/** Time of a press whose click has not come yet. */
let pointerDown_ms: number | null = null;
/** Time at which the pointer was pressed for the last click, or for the first click of a double click. */
let clickBegan_ms = 0;
/** The last press, and the time at which it began: the first press of a double tap. */
let lastPress = { x: 0, y: 0, at_ms: -Infinity, began_ms: -Infinity };
/** Time at which each key was pressed, without its repetitions. */
const keyDown_ms = new Map<string, number>();

document.addEventListener(
  "pointerdown",
  ({ isTrusted, pointerType, timeStamp, clientX: x, clientY: y }) => {
    if (!isTrusted) return; // a program's click counts, with or without a press before it
    lastPointer = pointerType;
    pointerDown_ms = timeStamp;
    const isNear = Math.hypot(x - lastPress.x, y - lastPress.y) < DOUBLE_PRESS_PX;
    const isSecond = isNear && timeStamp - lastPress.at_ms < DOUBLE_PRESS_MS;
    lastPress = { x, y, at_ms: timeStamp, began_ms: isSecond ? lastPress.began_ms : timeStamp };
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

/** Returns the time at which the action of an event began: the press of the pointer before the click, the first press of
 * a double click, or the press of a key that is held down. An action that began before the onset is not a response.
 */
export function beganAt_ms(event: Event): number {
  if (event instanceof KeyboardEvent) return event.repeat ? (keyDown_ms.get(event.code) ?? -Infinity) : event.timeStamp;
  if (event.type === "pointerdown" || event.type === "pointerup") return lastPress.began_ms;
  const isOfPress = event instanceof MouseEvent && (event.detail > 1 || (event.type === "click" && event.detail === 1));
  return isOfPress ? clickBegan_ms : event.timeStamp;
}

/** Returns the device of an event, or null if the browser does not report it. A click with the count 0 comes from a key. */
export function inputOf(event: Event): Input | null {
  const hasNoPress = event.type !== "pointerdown" && (event as MouseEvent).detail === 0;
  if (event instanceof KeyboardEvent || hasNoPress) return "key";
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

/** Which input events count as an answer, and when they were made. */

/**
 * The time of the event itself (not of its handler), or null when the event is no answer to this stimulus: made before
 * `open_ms`, a key held down, a key with a modifier, or typed while a dialog is open.
 */
export function answerTime_ms(event: Event, open_ms: number): number | null {
  if (event instanceof KeyboardEvent && (event.repeat || event.ctrlKey || event.altKey || event.metaKey)) return null;
  if (document.querySelector("dialog[open]")) return null;
  return event.timeStamp < open_ms ? null : event.timeStamp;
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

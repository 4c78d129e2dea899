/** Hints for the participant about the time for a question. */
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";

export interface TimeBounds {
  /** Time after onset during which no response is accepted. */
  reading_ms: number;
  /** Time after onset at which the trial ends without a response; null for no limit. */
  deadline_ms: number | null;
}

/** Makes the hints for one trial, if the trial has time limits. The hint about reading is last, because its space then stays
 * empty.
 */
export function timeHints({ reading_ms, deadline_ms }: TimeBounds): HTMLElement[] {
  const hints = [];
  if (deadline_ms !== null) hints.push(html("span", {}, timeLimit(deadline_ms)));
  if (reading_ms > 0) hints.push(html("span", { class: "reading-time" }, say("reading_time", { seconds: seconds(reading_ms) })));
  return hints.length > 0 ? [html("p", { id: "time-hints", class: "hint", lang: TEXTS_LANGUAGE }, ...hints)] : [];
}

export function timeLimit(deadline_ms: number): string {
  return say("time_limit", { seconds: seconds(deadline_ms) });
}

function seconds(duration_ms: number): string {
  return (duration_ms / 1000).toLocaleString(TEXTS_LANGUAGE, { numberingSystem: "latn" });
}

/** The attempts at trials, in the browser's local storage. The attempts identify an interrupted trial when the
 * participant opens the page again. Without local storage, every attempt counts as the first attempt.
 */

import type { Feedback, ResponseValue, StoredResponse } from "./server-api";
import type { KeptResponse } from "./kept-responses";

interface BegunTrial {
  trial_index: number;
  /** Number of attempts at this trial. */
  attempt: number;
  /** The response and its feedback, if this is a practice trial and the next trial has not begun in this browser. */
  answered?: AnsweredTrial;
}

/** A response with its feedback. */
export interface AnsweredTrial {
  /** Null if the time passed without a response. */
  response: ResponseValue | null;
  feedback: Feedback;
}

const KEY_PREFIX = "equipoise-begun-";

/** Returns the latest trial of the session that has begun in this browser. */
export function begunTrial(session: string): BegunTrial | null {
  try {
    return JSON.parse(localStorage.getItem(KEY_PREFIX + session) ?? "null") as BegunTrial | null;
  } catch {
    return null;
  }
}

export function rememberBegun(session: string, trial: BegunTrial): void {
  try {
    localStorage.setItem(KEY_PREFIX + session, JSON.stringify(trial));
  } catch {}
}

/** Remembers the feedback on stored responses, to show it again after a reload. The next trial removes the feedback. */
export function rememberFeedback(sent: KeptResponse[], stored: StoredResponse[]): void {
  for (const { response_id, feedback } of stored) {
    const found = sent.find((response) => response.response_id === response_id);
    if (!feedback || !found) continue;
    const begun = begunTrial(found.session);
    if (begun?.trial_index !== found.trial_index) continue;
    rememberBegun(found.session, { ...begun, answered: { response: found.response, feedback } });
  }
}

/** Deletes the attempts of all sessions, except of session `but`. */
export function forgetBegun(but?: string): void {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(KEY_PREFIX) && key !== KEY_PREFIX + but) localStorage.removeItem(key);
    }
  } catch {}
}

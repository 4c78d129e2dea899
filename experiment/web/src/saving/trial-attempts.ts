/** The attempts at trials, in the browser's local storage. The attempts identify an interrupted trial when the
 * participant opens the page again. Without local storage, every attempt counts as the first attempt.
 */

interface BegunTrial {
  trial_index: number;
  /** Number of attempts at this trial. */
  attempt: number;
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

/** Deletes the attempts of all sessions, except of session `but`. */
export function forgetBegun(but?: string): void {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(KEY_PREFIX) && key !== KEY_PREFIX + but) localStorage.removeItem(key);
    }
  } catch {}
}

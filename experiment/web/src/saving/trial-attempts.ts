/** The attempts at trials, in the browser's local storage: so an interrupted trial is recognized when the page is
 * opened again. Without storage, every attempt is a first one.
 */

interface BegunTrial {
  trial_index: number;
  /** Number of attempts. */
  attempt: number;
}

const KEY_PREFIX = "equipoise-begun-";

/** The trial of a session that was begun last, with this browser. */
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

/** Removes the attempts of all sessions, or of all but one. */
export function forgetBegun(but?: string): void {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(KEY_PREFIX) && key !== KEY_PREFIX + but) localStorage.removeItem(key);
    }
  } catch {}
}

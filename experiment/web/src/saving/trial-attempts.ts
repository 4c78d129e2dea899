/**
 * Which trial a participant has begun, and how often, in the browser's local storage: so that a trial that was on the
 * screen when the page was closed is known as such when it is opened again. Without storage, every trial is a first one.
 */

interface BegunTrial {
  trial_index: number;
  /** How often it was begun. */
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

/** Forgets what was begun in all sessions, or in all but one. */
export function forgetBegun(but?: string): void {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith(KEY_PREFIX) && key !== KEY_PREFIX + but) localStorage.removeItem(key);
    }
  } catch {}
}

/**
 * Storage of responses in the browser, so that they survive a reload, a closed tab and a lost connection.
 *
 * Local storage can be disabled or full. Then a response is in memory only, and the page asks before it is closed
 * (`beforeunload`).
 */
import type { TrialResponse } from "./server-api";

export type KeptResponse = TrialResponse & {
  /** Name of the response's session, so that the response cannot get into another session. */
  session: string;
};

const KEY_PREFIX = "equipoise-response-";

/** Returns the storage key of a response. Each response has its own key, so that two tabs never overwrite each other's
 * responses.
 */
function keyOf(response: KeptResponse): string {
  return KEY_PREFIX + response.response_id;
}

export function keep(response: KeptResponse): void {
  try {
    localStorage.setItem(keyOf(response), JSON.stringify(response));
  } catch {}
}

export function forget(response: KeptResponse): void {
  try {
    localStorage.removeItem(keyOf(response));
  } catch {}
}

/** Returns all stored responses, in the order of the trials. */
export function keptResponses(): KeptResponse[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(KEY_PREFIX))
      .map((key) => JSON.parse(localStorage.getItem(key)!) as KeptResponse)
      .sort((one, other) => one.trial_index - other.trial_index);
  } catch {
    return [];
  }
}

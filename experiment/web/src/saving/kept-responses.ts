/**
 * Responses in the browser's local storage, where they survive a reload, a closed tab and a lost connection.
 *
 * Storage can be disabled or full. A response is then kept in memory only, which `beforeunload` guards.
 */
import type { TrialResponse } from "./server-api";

export type KeptResponse = TrialResponse & {
  /** Name of its session, so that it cannot get into another one. */
  session: string;
};

const KEY_PREFIX = "equipoise-response-";

/** One entry of local storage per response, so that two tabs never overwrite each other's. */
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

/** All stored responses, in the order of the trials. */
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

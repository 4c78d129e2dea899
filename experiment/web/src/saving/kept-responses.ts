/**
 * Storage of responses in the browser, so that they survive a reload, a closed tab and a lost connection.
 *
 * Local storage writes at once, even if the page is closed in the next moment, but it is small. So large responses, and
 * responses for which it has no room, are kept in IndexedDB. Both can be disabled or full. Then a response is in memory
 * only, and the page asks before it is closed (`beforeunload`).
 */
import type { TrialResponse } from "./server-api";
import { allLarge, deleteLarge, putLarge } from "./large-responses";

export type KeptResponse = TrialResponse & {
  /** Name of the response's session, so that the response cannot get into another session. */
  session: string;
};

const KEY_PREFIX = "equipoise-response-";

/** A longer response is large. Local storage has room for about fifty responses of this length. */
const LONGEST_LOCAL_CHARACTERS = 100_000;

/** The ids of the responses that are in IndexedDB. */
const large = new Set<string>();

/** Returns true if responses survive a reload. The study also runs in a browser that stores nothing. */
export function canStore(): boolean {
  const stored = keepLocally("equipoise-check", "1");
  if (stored) localStorage.removeItem("equipoise-check");
  return stored;
}

/** Returns the storage key of a response. Each response has its own key, so that two tabs never overwrite each other's
 * responses.
 */
function keyOf(response: KeptResponse): string {
  return KEY_PREFIX + response.response_id;
}

export function keep(response: KeptResponse): void {
  const entry = JSON.stringify(response);
  if (entry.length <= LONGEST_LOCAL_CHARACTERS && keepLocally(keyOf(response), entry)) return;
  large.add(response.response_id);
  putLarge(response.response_id, entry).catch(() => {});
}

function keepLocally(key: string, entry: string): boolean {
  try {
    localStorage.setItem(key, entry);
    return true;
  } catch {
    return false;
  }
}

export function forget(response: KeptResponse): void {
  if (large.delete(response.response_id)) deleteLarge(response.response_id).catch(() => {});
  try {
    localStorage.removeItem(keyOf(response));
  } catch {}
}

/** Returns all stored responses, in the order of the trials. */
export async function keptResponses(): Promise<KeptResponse[]> {
  const fromDatabase = (await allLarge().catch((): string[] => [])).map(parsed);
  fromDatabase.forEach(({ response_id }) => large.add(response_id));
  return [...locallyKept().map(parsed), ...fromDatabase].sort((one, other) => one.trial_index - other.trial_index);
}

function locallyKept(): string[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(KEY_PREFIX))
      .map((key) => localStorage.getItem(key)!);
  } catch {
    return [];
  }
}

function parsed(entry: string): KeptResponse {
  return JSON.parse(entry) as KeptResponse;
}

/** Selection of the waiting responses that go to the server in one request. */
import type { KeptResponse } from "./kept-responses";

/** The server's limit for one request. */
export const MAX_RESPONSES = 100;

/** Browsers send at most 64 KB for a closed page (`keepalive`), all its requests together; a larger one fails at once,
 * and for ever. A hundred responses of our tasks take about 30 KB.
 */
const MAX_BYTES = 48 * 1024;

/** All waiting responses, in order, of the first one's session, up to the size of one request; but always the first. */
export function nextBatch(waiting: KeptResponse[], most: number): KeptResponse[] {
  const batch: KeptResponse[] = [];
  let bytes = 0;
  for (const response of waiting.filter(({ session }) => session === waiting[0]!.session)) {
    bytes += new Blob([JSON.stringify(response)]).size;
    if (batch.length > 0 && (bytes > MAX_BYTES || batch.length === most)) break;
    batch.push(response);
  }
  return batch;
}

/** The outbox. It stores every response in the browser's local storage first. It then sends all waiting responses to the
 * server in order, and keeps each response until the server has acknowledged it.
 */
import { api, ApiError, type Feedback, isElsewhere, isTooLarge, sizeOf_bytes, type StoredResponse } from "./server-api";
import { forget, keep, type KeptResponse, keptResponses } from "./kept-responses";
import { retrying } from "./retry";
import { rememberFeedback } from "./trial-attempts";

/** The largest number of responses that the server accepts in one request. */
const MAX_RESPONSES = 100;

/** Largest size of a batch of several responses. After a page is closed, browsers send at most 64 KB of its requests. A
 * hundred responses of our tasks are about 30 KB. A larger response is sent alone.
 */
const MAX_BYTES = 48 * 1024;

/** `delayed`: the server replies, but cannot store anything now. `offline`: the client cannot reach the server. */
export type SaveStatus = "saved" | "saving" | "delayed" | "offline";

export class Outbox {
  private waiting: KeptResponse[] = [];
  private sending = false;
  private closed = false;
  private atOnce = MAX_RESPONSES;
  private receivers = new Map<string, (feedback: Feedback | null) => void>();
  private onDrained: { resolve: () => void; reject: (error: unknown) => void }[] = [];

  /** The server's final refusal of a response, or null. After a refusal nothing is sent. */
  rejection: unknown = null;

  /** Number of responses that were too large for the server. The server has a record of each, without the response. */
  tooLarge = 0;

  constructor(
    private onStatus: (status: SaveStatus) => void,
    private onRejected: () => void,
    private onTooLarge: () => void,
  ) {}

  /** Loads the responses that an earlier visit kept in this browser. Call this once, before all other methods. */
  async restore(): Promise<void> {
    this.waiting = await keptResponses();
  }

  get unsent(): number {
    return this.waiting.length;
  }

  /** Stores the response and begins to send it. Resolves with the server's feedback once the server has the response. */
  add(response: KeptResponse): Promise<Feedback | null> {
    return new Promise((resolve) => {
      if (this.closed) return;
      keep(response);
      this.waiting.push(response);
      this.receivers.set(response.response_id, resolve);
      void this.send();
    });
  }

  /** Sends the waiting responses. Resolves when the server has all responses. Rejects if the server finally refuses a
   * response.
   */
  drain(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.rejection !== null) return reject(this.rejection);
      this.onDrained.push({ resolve, reject });
      void this.send();
    });
  }

  /** Deletes the responses that `isObsolete` selects. */
  drop(isObsolete: (response: KeptResponse) => boolean): void {
    this.waiting.filter(isObsolete).forEach(forget);
    this.waiting = this.waiting.filter((response) => !isObsolete(response));
  }

  /** Deletes all waiting responses and stops sending. */
  close(): void {
    this.closed = true;
    this.drop(() => true);
  }

  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    try {
      while (this.waiting.length > 0) await this.sendBatch();
      if (!this.closed) this.onStatus("saved");
      this.onDrained.splice(0).forEach(({ resolve }) => resolve());
    } catch (error) {
      if (!this.closed) this.reject(error);
    } finally {
      this.sending = false;
    }
  }

  private async sendBatch(): Promise<void> {
    this.onStatus("saving");
    let batch: KeptResponse[] = [];
    const attempt = async () => {
      batch = nextBatch(this.waiting, this.atOnce); // includes the responses given since the last attempt
      if (batch.length === 0) return { responses: [] }; // the participant has withdrawn
      return api.respond(batch[0]!.session, batch.map(({ session: _, ...response }) => response));
    };
    const onFailure = (error: unknown) => this.onStatus(error instanceof ApiError ? "delayed" : "offline");
    try {
      const { responses } = await retrying(attempt, onFailure);
      this.settle(batch, responses);
    } catch (error) {
      if (isElsewhere(error)) throw error;
      if (batch.length === 1) return this.giveUp(batch[0]!, error);
      this.atOnce = 1; // the server refuses a whole batch; sent one by one, the responses before the invalid response are stored
    }
  }

  /** Replaces a response that is too large for the server with a record that says so, and continues with the later
   * responses. After any other refusal, throws.
   */
  private giveUp(response: KeptResponse, error: unknown): void {
    if (!isTooLarge(error) || response.missing === "interrupted" || response.missing === "too_large") throw error;
    const record: KeptResponse = { ...response, response: null, missing: "too_large", confidence: null, confidence_rt_ms: null };
    forget(response);
    keep(record);
    this.waiting = this.waiting.map((one) => (one === response ? record : one));
    this.tooLarge++;
    this.onTooLarge();
  }

  private settle(batch: KeptResponse[], stored: StoredResponse[]): void {
    rememberFeedback(batch, stored);
    batch.forEach(forget);
    this.waiting = this.waiting.filter((response) => !batch.includes(response));
    for (const { response_id, feedback } of stored) {
      this.receivers.get(response_id)?.(feedback);
      this.receivers.delete(response_id);
    }
  }

  private reject(error: unknown): void {
    // A session that continues in another browser can return to this browser, and then accepts the stored responses. Any
    // other refusal is final, also for the later responses, because the server accepts responses in order.
    if (isElsewhere(error)) this.closed = true;
    else this.close();
    this.rejection = error;
    this.onDrained.splice(0).forEach(({ reject }) => reject(error));
    this.onRejected();
  }
}

/** Returns the next responses to send: waiting responses of one session, in order, up to the limits of one request. The
 * first waiting response is always included.
 */
function nextBatch(waiting: KeptResponse[], most: number): KeptResponse[] {
  const batch: KeptResponse[] = [];
  let bytes = 0;
  for (const response of waiting.filter(({ session }) => session === waiting[0]!.session)) {
    bytes += sizeOf_bytes(response);
    if (batch.length > 0 && (bytes > MAX_BYTES || batch.length === most)) break;
    batch.push(response);
  }
  return batch;
}

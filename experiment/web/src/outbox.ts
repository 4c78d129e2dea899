/**
 * The outbox: every response is kept in the browser's local storage first and sent to the server in order, until the
 * server has acknowledged it. What waits here survives a reload, a closed tab and a lost connection.
 */
import { api, type Feedback, type TrialResponse } from "./api";
import { retrying } from "./retry";

const KEY_PREFIX = "equipoise-response-";

/** One entry of local storage a response, so that two tabs never overwrite each other's. */
function keyOf(response: TrialResponse): string {
  return KEY_PREFIX + response.response_id;
}

// Storage can be disabled or full. A response is then kept in memory only, which `beforeunload` guards.
function keep(response: TrialResponse): void {
  try {
    localStorage.setItem(keyOf(response), JSON.stringify(response));
  } catch {}
}

function forget(response: TrialResponse): void {
  try {
    localStorage.removeItem(keyOf(response));
  } catch {}
}

function kept(): TrialResponse[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(KEY_PREFIX))
      .map((key) => JSON.parse(localStorage.getItem(key)!) as TrialResponse)
      .sort((one, other) => one.trial_index - other.trial_index);
  } catch {
    return [];
  }
}

export type SaveStatus = "saved" | "saving" | "offline";

export class Outbox {
  private waiting = kept();
  private sending = false;
  private closed = false;
  private receivers = new Map<string, (feedback: Feedback | null) => void>();
  private onDrained: { resolve: () => void; reject: (error: unknown) => void }[] = [];

  /** The server's final no to a response, if there was one; nothing is kept or sent after it. */
  rejection: unknown = null;

  constructor(
    private onStatus: (status: SaveStatus) => void,
    private onRejected: () => void,
  ) {}

  get unsent(): number {
    return this.waiting.length;
  }

  /** Keeps the response and begins to send it. Resolves with the server's feedback once the server has it. */
  add(response: TrialResponse): Promise<Feedback | null> {
    return new Promise((resolve) => {
      if (this.closed) return;
      keep(response);
      this.waiting.push(response);
      this.receivers.set(response.response_id, resolve);
      void this.send();
    });
  }

  /** Sends what waits; resolves when the server has it all, rejects if it refuses a response for good. */
  drain(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.rejection !== null) return reject(this.rejection);
      this.onDrained.push({ resolve, reject });
      void this.send();
    });
  }

  /** Drops responses that the server has already, or that belong to a session that is over. */
  drop(isObsolete: (response: TrialResponse) => boolean): void {
    this.waiting.filter(isObsolete).forEach(forget);
    this.waiting = this.waiting.filter((response) => !isObsolete(response));
  }

  /** Drops everything and sends nothing any more. */
  close(): void {
    this.closed = true;
    this.drop(() => true);
  }

  private async send(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    try {
      for (let response = this.waiting[0]; response; response = this.waiting[0]) await this.sendOne(response);
      this.onStatus("saved");
      this.onDrained.splice(0).forEach(({ resolve }) => resolve());
    } catch (error) {
      if (this.closed) return;
      this.close(); // the server takes responses in order, so the ones behind a rejected one would be rejected too
      this.rejection = error;
      this.onDrained.splice(0).forEach(({ reject }) => reject(error));
      this.onRejected();
    } finally {
      this.sending = false;
    }
  }

  private async sendOne(response: TrialResponse): Promise<void> {
    this.onStatus("saving");
    const { feedback } = await retrying(
      () => api.respond(response),
      () => this.onStatus("offline"),
    );
    forget(response);
    this.waiting = this.waiting.filter((other) => other !== response);
    this.receivers.get(response.response_id)?.(feedback);
    this.receivers.delete(response.response_id);
  }
}

/** A random UUID, version 4. `crypto.randomUUID` exists over HTTPS only; laboratories also serve over plain HTTP. */
export function uuid4(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

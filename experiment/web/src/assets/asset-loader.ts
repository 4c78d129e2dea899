/** Loads the pictures, sounds and videos of a session in the order of its trials, while the participant is busy with earlier
 * trials. A trial waits only if its own files are not here yet.
 */
import { retrying } from "../saving/retry";
import { ApiError } from "../saving/server-api";
import { say } from "../pages/texts";

/** Requests at a time. More would only share the same line. */
const CONCURRENT = 3;
/** Bytes that are kept for later trials. A phone's memory is small. */
const MOST_BYTES_AHEAD = 64_000_000;
/** A request is repeated if nothing arrives for this time. A large file may take as long as the line needs. */
const SILENCE_MS = 10_000;

export interface Progress {
  loaded: number;
  needed: number;
  /** True while the server cannot be reached. */
  waiting: boolean;
}

export class AssetLoader {
  /** Addresses that each trial needs, by the index of the trial. */
  private needed = new Map<number, string[]>();
  private loading = new Map<string, Promise<Blob>>();
  private loaded = new Map<string, Blob>();
  private bytes = 0;
  private next = 0;
  private waiting = false;
  private onChange: () => void = () => {};
  /** Functions that wake the workers, which wait until bytes are free. */
  private sleepers: (() => void)[] = [];

  /** Begins to load what the trials need, in their order. A trial is given as its index and its addresses. */
  begin(trials: Map<number, string[]>): void {
    this.needed = trials;
    const addresses = [...new Set([...trials.values()].flat())];
    for (let worker = 0; worker < CONCURRENT; worker++) void this.work(addresses);
  }

  isReady(trial_index: number): boolean {
    return this.addressesOf(trial_index).every((address) => this.loaded.has(address));
  }

  /** Resolves when everything that a trial needs is here. Rejects if the server does not have a file. */
  async ready(trial_index: number, onProgress: (progress: Progress) => void): Promise<void> {
    const addresses = this.addressesOf(trial_index);
    this.onChange = () => {
      const loaded = addresses.filter((address) => this.loaded.has(address)).length;
      onProgress({ loaded, needed: addresses.length, waiting: this.waiting });
    };
    this.onChange();
    await Promise.all(addresses.map((address) => this.load(address)));
    this.onChange = () => {};
  }

  /** Returns a file that is here. In other people's experiments nothing is loaded before, so the result can be null. */
  blob(address: string): Blob | null {
    return this.loaded.get(address) ?? null;
  }

  /** Forgets the files that no trial after this one needs. */
  release(trial_index: number): void {
    const later = new Set([...this.needed].filter(([index]) => index > trial_index).flatMap(([, addresses]) => addresses));
    for (const [address, blob] of this.loaded) {
      if (later.has(address)) continue;
      this.loaded.delete(address);
      this.loading.delete(address);
      this.bytes -= blob.size;
    }
    for (const wake of this.sleepers.splice(0)) wake();
  }

  private addressesOf(trial_index: number): string[] {
    return this.needed.get(trial_index) ?? [];
  }

  private async work(addresses: string[]): Promise<void> {
    while (this.next < addresses.length) {
      if (this.bytes > MOST_BYTES_AHEAD) {
        await new Promise<void>((resolve) => this.sleepers.push(resolve));
        continue;
      }
      await this.load(addresses[this.next++]!).catch(() => {}); // the trial that needs the file reports the error
    }
  }

  private load(address: string): Promise<Blob> {
    const known = this.loading.get(address);
    if (known) return known;
    const onFailure = () => {
      this.waiting = true;
      this.onChange();
    };
    const received: Uint8Array<ArrayBuffer>[] = [];
    const loading = retrying(() => fetched(address, received), onFailure).then((blob) => {
      this.loaded.set(address, blob);
      this.bytes += blob.size;
      this.waiting = false;
      this.onChange();
      return blob;
    });
    this.loading.set(address, loading);
    return loading;
  }
}

/** Loads a file. `received` has the parts that earlier attempts have received, and gets the further parts. */
async function fetched(address: string, received: Uint8Array<ArrayBuffer>[]): Promise<Blob> {
  const silence = new AbortController();
  let timer = 0;
  const arrived = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => silence.abort(), SILENCE_MS);
  };
  arrived();
  try {
    const begin = received.reduce((bytes, part) => bytes + part.length, 0);
    const headers: HeadersInit = begin > 0 ? { Range: `bytes=${begin}-` } : {};
    const reply = await fetch(address, { headers, signal: silence.signal });
    if (reply.status !== 206) received.length = 0; // the whole file comes again
    if (reply.status === 416) throw new Error(`${address} has no bytes from ${begin} on`); // the next attempt asks for all
    if (!reply.ok) throw new ApiError(reply.status, say("asset_missing"));
    const reader = reply.body!.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return new Blob(received, { type: reply.headers.get("Content-Type") ?? "" });
      received.push(value);
      arrived();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** The loader of this page. */
export const assets = new AssetLoader();

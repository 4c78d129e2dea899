/**
 * When answers to a stimulus are taken: from its onset, or from the end of the time for reading, until the deadline.
 *
 * The times of the events decide, not those of timers: a timer may be late, after sleep by hours.
 */
import { isMeant } from "./input-events";

/** An answer that was made in time may take that long to arrive. */
const ON_ITS_WAY_MS = 30;

export class ResponseWindow {
  private opens_ms = Infinity;
  private closes_ms = Infinity;
  private closing = new AbortController();

  /** `onTooEarly` is told of each event that would have been an answer, had it not come before the window is open. */
  constructor(private onTooEarly: () => void) {}

  /** Ends the listeners of those who wait for an answer. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** Whether an event that stands for an answer, or for a part of one, is taken. */
  takes(event: Event): boolean {
    if (this.closed.aborted || !isMeant(event)) return false;
    if (event.timeStamp >= this.opens_ms) return event.timeStamp <= this.closes_ms;
    this.onTooEarly();
    return false;
  }

  /** Opens at a time that may be yet to come; resolves then. */
  async open(opens_ms: number): Promise<void> {
    this.opens_ms = opens_ms;
    await untilAfter(opens_ms);
  }

  /** Resolves once the deadline has passed and no answer that was made before it can still arrive. */
  async deadline(closes_ms: number): Promise<void> {
    this.closes_ms = closes_ms;
    await untilAfter(closes_ms + ON_ITS_WAY_MS);
  }

  /** Takes nothing any more. */
  close(): void {
    this.closes_ms = -Infinity;
    this.closing.abort();
  }
}

async function untilAfter(time_ms: number): Promise<void> {
  for (let left_ms; (left_ms = time_ms - performance.now()) > 0; ) await new Promise((resolve) => setTimeout(resolve, left_ms));
}

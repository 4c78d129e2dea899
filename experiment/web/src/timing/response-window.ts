/** The time in which responses to a stimulus are accepted: from its onset, or from the end of the time for reading,
 * until the deadline.
 *
 * The times of the events decide, not those of timers: a timer may be late, after sleep by hours.
 */
import { isMeant } from "./input-events";

/** Longest delay of a response that was made in time. */
const ON_ITS_WAY_MS = 30;

export class ResponseWindow {
  private opens_ms = Infinity;
  private closes_ms = Infinity;
  private closing = new AbortController();

  /** `onTooEarly` receives each event before the window opens that would otherwise be a response. */
  constructor(private onTooEarly: () => void) {}

  /** Ends the listeners of pending responses. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** True if an event that is a response, or a part of one, is accepted. */
  takes(event: Event): boolean {
    if (this.closed.aborted || !isMeant(event)) return false;
    if (event.timeStamp >= this.opens_ms) return event.timeStamp <= this.closes_ms;
    this.onTooEarly();
    return false;
  }

  /** Opens at a time that may be in the future; resolves then. */
  async open(opens_ms: number): Promise<void> {
    this.opens_ms = opens_ms;
    await untilAfter(opens_ms);
  }

  /** Resolves once the deadline has passed and no response that was made before it can still arrive. */
  async deadline(closes_ms: number): Promise<void> {
    this.closes_ms = closes_ms;
    await untilAfter(closes_ms + ON_ITS_WAY_MS);
  }

  /** Accepts nothing any more. */
  close(): void {
    this.closes_ms = -Infinity;
    this.closing.abort();
  }
}

async function untilAfter(time_ms: number): Promise<void> {
  for (let left_ms; (left_ms = time_ms - performance.now()) > 0; ) await new Promise((resolve) => setTimeout(resolve, left_ms));
}

/** The time in which responses to a stimulus are accepted. It begins at the onset or at the end of the reading time, and
 * ends at the deadline.
 *
 * The time stamps of the input events decide, and not a timer, because a timer can be late. After the computer was
 * asleep, a timer can be hours late.
 */
import { beganAt_ms, isMeant } from "./input-events";

/** Longest delay with which the event of a response before the deadline can arrive. */
const ON_ITS_WAY_MS = 30;

export class ResponseWindow {
  private opens_ms = Infinity;
  private closes_ms = Infinity;
  private closing = new AbortController();

  /** `onTooEarly` is called for each event that would be a response but began before the window opens. */
  constructor(private onTooEarly: () => void) {}

  /** Signal that removes the listeners for responses. */
  get closed(): AbortSignal {
    return this.closing.signal;
  }

  /** Returns true if the window accepts an event that is a response or a part of a response. */
  takes(event: Event): boolean {
    if (this.closed.aborted || !isMeant(event)) return false;
    if (beganAt_ms(event) >= this.opens_ms) return event.timeStamp <= this.closes_ms;
    this.onTooEarly();
    return false;
  }

  /** Opens the window at a time, which can be in the future. Resolves at that time. */
  async open(opens_ms: number): Promise<void> {
    this.opens_ms = opens_ms;
    await untilAfter(opens_ms);
  }

  /** Sets the deadline. Resolves after the deadline, when no response made before the deadline can still arrive. */
  async deadline(closes_ms: number): Promise<void> {
    this.closes_ms = closes_ms;
    await untilAfter(closes_ms + ON_ITS_WAY_MS);
  }

  /** Closes the window: no further response is accepted. */
  close(): void {
    this.closes_ms = -Infinity;
    this.closing.abort();
  }
}

async function untilAfter(time_ms: number): Promise<void> {
  for (let left_ms; (left_ms = time_ms - performance.now()) > 0; ) await new Promise((resolve) => setTimeout(resolve, left_ms));
}

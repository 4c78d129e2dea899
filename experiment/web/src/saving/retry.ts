/** Repeats a request until it succeeds. The wait is the time that the server requests, or an exponential back-off. Without a
 * time from the server, the wait ends early when the browser is online again.
 */
import { ApiError, isTemporary } from "./server-api";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** Longest wait that a server or proxy can request. Our server limits requests by the minute. */
const LONGEST_RETRY_AFTER_MS = 90_000;

const wait = (wait_ms: number) => new Promise<void>((resolve) => setTimeout(resolve, wait_ms));

function waitOrOnline(wait_ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, wait_ms);
    window.addEventListener("online", done);
  });
}

/** Returns the request's result. Throws only errors that a retry cannot resolve. `onFailure` receives all other errors. */
export async function retrying<T>(request: () => Promise<T>, onFailure: (error: unknown) => void): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      if (!isTemporary(error)) throw error;
      onFailure(error);
      const backOff_ms = Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS);
      const asked_ms = error instanceof ApiError ? Math.min(error.retryAfter_s * 1_000, LONGEST_RETRY_AFTER_MS) : 0;
      // Waits up to a quarter longer, at random, so that many browsers do not retry at the same moment.
      const wait_ms = Math.max(backOff_ms, asked_ms) * (1 + Math.random() / 4);
      await (asked_ms > 0 ? wait(wait_ms) : waitOrOnline(wait_ms));
    }
  }
}

/** Repeats a request until it succeeds, with exponential back-off; sooner when the browser is online again. */
import { isTemporary } from "./api";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

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

/** The request's result; throws only what no repetition can mend. */
export async function retrying<T>(request: () => Promise<T>, onFailure: () => void): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      if (!isTemporary(error)) throw error;
      onFailure();
      const wait_ms = Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS);
      // Up to a quarter longer by chance, so that a room full of browsers does not come back in the same instant.
      await waitOrOnline(wait_ms * (1 + Math.random() / 4));
    }
  }
}

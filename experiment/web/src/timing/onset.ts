/** The actual onset of a stimulus.
 *
 * The time stamp of the frame that adds the stimulus to the page is up to 20 ms too early. Chromium reports later when it
 * presented the frame (Element Timing). In other browsers the best estimate is the time just after painting.
 */
import type { OnsetSource } from "../saving/server-api";
import { painted } from "./fixation";
import { COMMON_FRAME_MS } from "./frame-interval";

/** Longest wait, after the response, for the browser's report of the presentation. */
const PATIENCE_MS = 100;

export interface Onset {
  /** Time by the clock of `event.timeStamp`. */
  onset_ms: number;
  onset_source: OnsetSource;
}

/** Time from the time stamp of a frame to its presentation, of the latest stimuli that the browser reported. */
const delays_ms: number[] = [];
const MOST_DELAYS = 9;

/** Returns the time at which a frame will be on the screen: after the usual delay, or one common frame later. */
export function presentation_ms(frame_ms: number): number {
  const sorted = [...delays_ms].sort((one, other) => one - other);
  return frame_ms + (sorted[Math.floor(sorted.length / 2)] ?? COMMON_FRAME_MS);
}

const watched = new WeakMap<Element, (presented_ms: number) => void>();

const tellsPresentation = PerformanceObserver.supportedEntryTypes.includes("element");

if (tellsPresentation) {
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { element: Element | null; renderTime: number })[]) {
      if (entry.element && entry.renderTime > 0) watched.get(entry.element)?.(entry.renderTime);
    }
  }).observe({ type: "element" });
}

/** Watches a stimulus that was added to the page in this frame. The returned function returns the best estimate of the
 * onset.
 */
export function watchOnset(stimulus: HTMLElement, frame_ms: number): () => Promise<Onset> {
  let presented_ms: number | null = null;
  let painted_ms = frame_ms;
  const presented = new Promise<void>((resolve) => {
    for (const element of seenFirst(stimulus)) {
      watched.set(element, (seen_ms) => {
        if (presented_ms === null) {
          presented_ms = seen_ms;
          delays_ms.push(seen_ms - frame_ms);
          delays_ms.splice(0, delays_ms.length - MOST_DELAYS);
        }
        resolve();
      });
    }
  });
  const paint = painted().then((now_ms) => (painted_ms = now_ms));
  return async () => {
    await paint;
    if (presented_ms === null && tellsPresentation) await Promise.race([presented, wait(PATIENCE_MS)]);
    return presented_ms === null
      ? { onset_ms: painted_ms, onset_source: "painted" }
      : { onset_ms: presented_ms, onset_source: "presented" };
  };
}

/** Asks the browser for the time at which the stimulus is presented. Called before the stimulus is added to the page. */
export function askForOnset(stimulus: HTMLElement): void {
  for (const element of seenFirst(stimulus)) element.setAttribute("elementtiming", "stimulus");
}

/** Returns the element with the first visible words, and the first picture. One of them is at the top of the page, and therefore on
 * the screen. The browser presents the whole stimulus in the same frame.
 */
function seenFirst(stimulus: HTMLElement): Element[] {
  const walker = document.createTreeWalker(stimulus, NodeFilter.SHOW_TEXT, (text) =>
    text.nodeValue!.trim() === "" || text.parentElement!.closest(".visually-hidden, [hidden]") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  const words = walker.nextNode()?.parentElement ?? stimulus;
  const picture = stimulus.querySelector("img");
  return picture ? [words, picture] : [words];
}

function wait(duration_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration_ms));
}

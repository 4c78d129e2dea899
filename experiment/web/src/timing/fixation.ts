/** The fixation cross, counted in frames of the display, and the stimulus that replaces it.
 *
 * Times are the stamps of `requestAnimationFrame`: the clock of the frames themselves, and the same clock as
 * `event.timeStamp`. A timer would be late by a frame or more, at random.
 */
import { html } from "../pages/dom";

/** One animation frame later; resolves with its time stamp, before the frame is painted. */
const nextFrame = () => new Promise<number>(requestAnimationFrame);

/** Stamp of the frame that is being made now, for a trial that follows one that ended in it. */
let frameBeingMade_ms: number | null = null;

/** Keeps frames coming while an element is on the page, because the first one after a rest has an old stamp; resolves
 * then.
 */
export async function keepFramesComing(element: HTMLElement): Promise<void> {
  while (element.isConnected) await nextFrame();
}

/** Waits for the next frame, in which one screen can replace another; resolves before it is painted. jsPsych's work
 * between two trials happens within that frame, so no blank frame comes between them. Frames must have been kept coming
 * until then.
 */
export async function untilFrameBetweenTrials(): Promise<void> {
  if (document.hidden) await nextFrame(); // none come while nobody looks
  await new Promise<void>((resolve) => {
    requestAnimationFrame((stamp_ms) => {
      frameBeingMade_ms = stamp_ms;
      resolve();
    });
    // The next callback of the same frame: all consequences of the first one have happened by then.
    requestAnimationFrame(() => (frameBeingMade_ms = null));
  });
}

async function freshFrame(): Promise<number> {
  await nextFrame(); // warm-up: the first frame after idle carries a stamp up to a frame in the past
  return nextFrame();
}

/** Resolves in the first task after this frame was painted, with the time. */
export function painted(): Promise<number> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve(performance.now());
    };
    channel.port2.postMessage(null);
  });
}

/** Assumed interval if the browser's clock is too coarse to distinguish frames. */
const COMMON_FRAME_MS = 1000 / 60;

/**
 * The display's frame interval: the mean of 30, missed frames left out. Not their median, which some browsers' stamps in
 * whole milliseconds would put off by up to half a millisecond, a frame in 200 ms at 120 Hz.
 */
export async function measureFrameInterval_ms(): Promise<number> {
  const intervals_ms: number[] = [];
  await nextFrame(); // the first frame after idle carries an old stamp
  let last = await nextFrame();
  while (intervals_ms.length < 30) {
    const stamp = await nextFrame();
    intervals_ms.push(stamp - last);
    last = stamp;
  }
  const median_ms = intervals_ms.sort((one, other) => one - other)[15]!;
  if (median_ms < 1) return COMMON_FRAME_MS;
  const single_ms = intervals_ms.filter((interval_ms) => interval_ms < 1.5 * median_ms);
  return single_ms.reduce((sum, interval_ms) => sum + interval_ms, 0) / single_ms.length;
}

export interface Fixation {
  /** Time stamp of the frame that carries the stimulus; same clock as `event.timeStamp`. */
  end_ms: number;
  fixation_ms: number;
  fixation_frames: number;
  fixation_frames_intended: number;
  frames_dropped: number;
}

/** Shows the fixation for the frames nearest to `fixation_ms`, then the stimulus in the same frame in which the cross
 * disappears. The stimulus is built completely during the cross, so that neither waits for it.
 */
export async function showAfterFixation(
  display: HTMLElement,
  build: () => HTMLElement,
  fixation_ms: number,
  frame_ms: number,
): Promise<Fixation> {
  const target_frames = Math.round(fixation_ms / frame_ms);
  const cross = html("div", { id: "fixation", "aria-hidden": "true" }, "+");

  const start_ms = frameBeingMade_ms ?? (await freshFrame());
  if (target_frames > 0) {
    display.replaceChildren(cross);
    window.scrollTo(0, 0);
    await painted();
  }
  const stimulus = build();

  let stamp_ms = start_ms;
  let frames_seen = 0;
  // Half a frame of tolerance: stamps jitter, and a fixation that is a frame late must not last one more.
  while (stamp_ms - start_ms < (target_frames - 0.5) * frame_ms) {
    stamp_ms = await nextFrame();
    frames_seen++;
  }
  display.replaceChildren(stimulus);
  if (target_frames === 0) window.scrollTo(0, 0);

  const shown_ms = stamp_ms - start_ms;
  const fixation_frames = Math.round(shown_ms / frame_ms);
  return {
    end_ms: stamp_ms,
    fixation_ms: shown_ms,
    fixation_frames,
    fixation_frames_intended: target_frames,
    frames_dropped: Math.max(0, fixation_frames - frames_seen),
  };
}

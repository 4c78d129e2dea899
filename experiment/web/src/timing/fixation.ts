/** The fixation cross, timed by counting frames of the display, and the stimulus that replaces the cross.
 *
 * Times are the time stamps of `requestAnimationFrame`. These time stamps use the clock of the frames, which is also the
 * clock of `event.timeStamp`. A timer would be late by a random time of one frame or more.
 */
import { html } from "../pages/dom";
import type { Shown } from "../saving/server-api";
import { FramesShown } from "./frames-shown";

/** Waits for the next animation frame. Resolves with its time stamp, before the frame is painted. */
export const nextFrame = () => new Promise<number>(requestAnimationFrame);

/** Time stamp of the current frame, if the previous trial ended in this frame. */
let frameBeingMade_ms: number | null = null;

/** Requests frames as long as an element is on the page, because the first frame after a pause has an old time stamp.
 * Resolves when the element is removed.
 */
export async function keepFramesComing(element: HTMLElement): Promise<void> {
  while (element.isConnected) await nextFrame();
}

/** Waits for the next frame, and resolves before the frame is painted. jsPsych changes from one trial to the next within
 * this frame, so there is no blank frame between the trials. Until then, `keepFramesComing` must request frames.
 */
export async function untilFrameBetweenTrials(): Promise<void> {
  if (document.hidden) await nextFrame(); // a hidden page gets no frames
  await new Promise<void>((resolve) => {
    requestAnimationFrame((stamp_ms) => {
      frameBeingMade_ms = stamp_ms;
      resolve();
    });
    // The second callback of the same frame runs after everything that the first callback started.
    requestAnimationFrame(() => (frameBeingMade_ms = null));
  });
}

async function freshFrame(): Promise<number> {
  await nextFrame(); // the time stamp of the first frame after a pause can be up to one frame old
  return nextFrame();
}

/** Resolves with the time in the first task after the current frame was painted. */
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

export interface Fixation {
  /** Time stamp of the frame with the stimulus, by the clock of `event.timeStamp`. */
  end_ms: number;
  fixation_ms: number;
  fixation_frames: number;
  fixation_frames_intended: number;
  frames_dropped: number;
}

/** What replaces the fixation cross. The cross stays until the pictures are decoded and the sounds can begin. */
interface Replacement {
  element: HTMLElement;
  ready: Promise<unknown>;
  /** Prepares sounds. Called in the frames before the onset, with the time stamp that the frame of the onset will have. */
  prepare?: (onset_ms: number) => void;
}

/** Shows a blank screen between two trials, for the number of frames nearest to `intertrial_ms`. Resolves in the frame that
 * ends it, before the frame is painted, with the record and the time stamp of this frame. The record is null without an
 * interval. Resolves with null if the experiment was aborted.
 */
export async function showInterval(
  display: HTMLElement,
  intertrial_ms: number,
  frame_ms: number,
): Promise<{ shown: Shown | null; end_ms: number | null } | null> {
  if (Math.round(intertrial_ms / frame_ms) === 0) return { shown: null, end_ms: null };
  const start_ms = frameBeingMade_ms ?? (await freshFrame());
  const blank = html("div", { id: "intertrial", "aria-hidden": "true" });
  display.replaceChildren(blank);
  window.scrollTo(0, 0);
  const frames = new FramesShown(start_ms, frame_ms, intertrial_ms);
  let stamp_ms = start_ms;
  while (!frames.isOver(stamp_ms)) {
    stamp_ms = await nextFrame();
    if (!blank.isConnected) {
      frames.stop();
      return null;
    }
  }
  return { shown: frames.end(stamp_ms), end_ms: stamp_ms };
}

/** Resolves when an element, which was just added, has been on the screen for `duration_ms`, except for the last frame. The
 * next frame can then remove it. Never resolves if the experiment was aborted.
 */
export async function untilShownFor(element: HTMLElement, duration_ms: number, frame_ms: number): Promise<void> {
  const start_ms = await freshFrame();
  const frames = new FramesShown(start_ms, frame_ms, duration_ms);
  let stamp_ms = start_ms;
  while (element.isConnected && !frames.isOver(stamp_ms + frame_ms)) stamp_ms = await nextFrame();
  frames.stop();
  if (!element.isConnected) return new Promise(() => {});
}

/** Returns the record of an interval on a display without errors. */
export function simulatedInterval(intertrial_ms: number, frame_ms: number): Shown | null {
  const frames = Math.round(intertrial_ms / frame_ms);
  return frames === 0 ? null : { duration_ms: frames * frame_ms, frames, frames_intended: frames };
}

/** Shows the fixation cross for the number of frames nearest to `fixation_ms`. The stimulus replaces the cross within one
 * frame. The stimulus is built completely while the cross is on the screen, so that building delays nothing. A picture that
 * is not decoded in time makes the fixation longer, and the record says so. The cross appears in the present frame if
 * `now_ms` is its time stamp; if it is null, in a coming frame.
 */
export async function showAfterFixation(
  display: HTMLElement,
  build: () => Replacement,
  fixation_ms: number,
  frame_ms: number,
  now_ms: number | null,
): Promise<Fixation> {
  const target_frames = Math.round(fixation_ms / frame_ms);
  const cross = html("div", { id: "fixation", "aria-hidden": "true" });

  const start_ms = now_ms ?? frameBeingMade_ms ?? (await freshFrame());
  if (target_frames > 0) {
    display.replaceChildren(cross);
    window.scrollTo(0, 0);
    await painted();
  }
  const { element: stimulus, ready, prepare } = build();
  let isReady = false;
  void ready.then(() => (isReady = true));

  let stamp_ms = start_ms;
  let frames_seen = 0;
  // The tolerance is half a frame, because time stamps jitter. A late frame must not add another frame to the fixation.
  while (!isReady || stamp_ms - start_ms < (target_frames - 0.5) * frame_ms) {
    stamp_ms = await nextFrame();
    frames_seen++;
    const remaining = Math.round(target_frames - (stamp_ms - start_ms) / frame_ms);
    if (isReady && remaining > 0) prepare?.(stamp_ms + remaining * frame_ms);
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

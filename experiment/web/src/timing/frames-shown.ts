/** Counts the frames in which something is on the screen, and says when its duration is over. */
import type { Shown } from "../saving/server-api";

/** Something that is on the screen since the frame with the time stamp `start_ms`. */
export class FramesShown {
  private frames_intended: number | null;
  private hidden_ms = 0;
  private hiddenSince_ms: number | null = null;
  private listening = new AbortController();

  /** A duration of null means that it stays until the participant ends it. */
  constructor(
    private start_ms: number,
    private frame_ms: number,
    duration_ms: number | null,
  ) {
    this.frames_intended = duration_ms === null ? null : Math.max(1, Math.round(duration_ms / frame_ms));
    if (document.hidden) this.hiddenSince_ms = start_ms;
    document.addEventListener("visibilitychange", ({ timeStamp }) => this.visibility(timeStamp), { signal: this.listening.signal });
  }

  /** Returns true if the frame with this time stamp comes after the intended frames. The time stamps decide, with a
   * tolerance of half a frame, so that a missed frame does not lengthen the duration.
   */
  isOver(stamp_ms: number): boolean {
    return this.frames_intended !== null && stamp_ms - this.start_ms >= (this.frames_intended - 0.5) * this.frame_ms;
  }

  /** Returns the time stamp that the first frame without it will have, seen from the frame with the time stamp `stamp_ms`;
   * null if this frame is not later, or if the duration is not known.
   */
  endAfter(stamp_ms: number): number | null {
    if (this.frames_intended === null) return null;
    const remaining = Math.round(this.frames_intended - (stamp_ms - this.start_ms) / this.frame_ms);
    return remaining > 0 ? stamp_ms + remaining * this.frame_ms : null;
  }

  /** Returns the record. `stamp_ms` is the time stamp of the first frame without it. */
  end(stamp_ms: number): Shown {
    this.stop();
    if (this.hiddenSince_ms !== null) this.hidden_ms += Math.max(0, stamp_ms - this.hiddenSince_ms);
    const duration_ms = Math.max(0, stamp_ms - this.start_ms);
    const visible_ms = Math.max(0, duration_ms - this.hidden_ms);
    return { duration_ms, frames: Math.round(visible_ms / this.frame_ms), frames_intended: this.frames_intended };
  }

  /** Stops without a record. */
  stop(): void {
    this.listening.abort();
  }

  private visibility(at_ms: number): void {
    if (document.hidden) this.hiddenSince_ms ??= at_ms;
    else if (this.hiddenSince_ms !== null) {
      this.hidden_ms += Math.max(0, at_ms - this.hiddenSince_ms);
      this.hiddenSince_ms = null;
    }
  }
}

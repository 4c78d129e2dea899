/** The time left until the deadline: a bar that becomes shorter, and a few announcements for screen readers. */
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";

/** Announced if the time limit is at least twice as long. */
const LAST_ANNOUNCED_MS = 10_000;

/** Half of the time is announced if it is at least this long. */
const SHORTEST_HALF_MS = 15_000;

/** With reduced motion, the bar becomes shorter in this number of steps. */
const STEPS = 10;

export class TimeLeft {
  private bar = html("div", { class: "time-left-bar" });
  private words = html("p", { class: "visually-hidden", role: "status", lang: TEXTS_LANGUAGE });
  /** The bar is part of the stimulus from its first frame, so that nothing moves when the time begins. */
  readonly element = html("div", { class: "time-left" }, this.bar, this.words);

  constructor(private deadline_ms: number) {}

  /** Begins at the onset, which can be in the past. Stops when the stimulus is removed, or when `stopped` is aborted. */
  start(onset_ms: number, stopped: AbortSignal): void {
    const easing = matchMedia("(prefers-reduced-motion: reduce)").matches ? `steps(${STEPS})` : "linear";
    const shorter = [{ transform: "scaleX(1)" }, { transform: "scaleX(0)" }];
    const animation = this.bar.animate(shorter, { duration: this.deadline_ms, easing, fill: "forwards" });
    animation.startTime = onset_ms;
    stopped.addEventListener("abort", () => animation.pause());
    for (const left_ms of announcedTimes_ms(this.deadline_ms)) {
      const timer = setTimeout(() => this.announce(left_ms), onset_ms + this.deadline_ms - left_ms - performance.now());
      stopped.addEventListener("abort", () => clearTimeout(timer));
    }
  }

  private announce(left_ms: number): void {
    this.words.textContent = say("time_left", { seconds: Math.round(left_ms / 1000) });
  }
}

/** Returns the times left that are announced: half of the time, and the last ten seconds. */
export function announcedTimes_ms(deadline_ms: number): number[] {
  const half_ms = deadline_ms / 2;
  const times_ms = half_ms >= SHORTEST_HALF_MS ? [half_ms] : [];
  if (deadline_ms >= 2 * LAST_ANNOUNCED_MS) times_ms.push(LAST_ANNOUNCED_MS);
  return times_ms;
}

/** Measures the display's frame interval from the first page to the end of the session. */
import { COMMON_FRAME_MS, estimateInterval, MOST, usualInterval_ms } from "./frame-interval";

/** The first measurement takes at least this time, and this number of frames. Reading the consent takes longer. */
const LEAST_MS = 700;
const LEAST_STAMPS = 30;
/** Without a clear result, the first measurement continues for this time. */
const MOST_MS = 3_000;

/** Number of the latest frames that are measured. */
const MOST_STAMPS = 300;

/** After a longer pause, such as in a hidden page, the measurement begins again: frames in a pause cannot be counted. */
const LONGEST_PAUSE_MS = 1_000;

/** Number of frames in a check whether the interval has changed, such as after a move to another screen. A check takes
 * some ms, so there is at most one check in this number of frames.
 */
const DRIFT_STAMPS = 120;
/** Least change of the interval, as a share. Two groups of frames in a row must have the same new interval. */
const LEAST_DRIFT = 0.005;

export class FrameMeter {
  private stamps_ms: number[] = [];
  private interval_ms: number | null = null;
  private unchecked = 0;
  private waiting: (() => void)[] = [];
  private stopped = false;

  /** Begins to measure. */
  constructor() {
    const measure = (stamp_ms: number) => {
      this.add(stamp_ms);
      if (!this.stopped) requestAnimationFrame(measure);
    };
    requestAnimationFrame(() => requestAnimationFrame(measure)); // the first frame after a pause has an old time stamp
  }

  /** Resolves when the interval was measured. */
  async known(): Promise<void> {
    if (this.interval_ms === null) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  /** The interval as measured; null if the browser's clock is too coarse. */
  get measured_ms(): number | null {
    return estimateInterval(this.stamps_ms.slice(-MOST_STAMPS))?.interval_ms ?? null;
  }

  /** The interval with which durations are counted in frames. It changes only if the display's interval has changed. */
  get used_ms(): number {
    const changed_ms = this.unchecked >= DRIFT_STAMPS ? this.changed_ms() : null;
    if (changed_ms !== null) {
      this.stamps_ms = this.stamps_ms.slice(-DRIFT_STAMPS);
      this.interval_ms = changed_ms;
    }
    return this.interval_ms ?? COMMON_FRAME_MS;
  }

  /** Measures again, because the page may be on another screen now. */
  restart(): void {
    this.stamps_ms = [];
    this.interval_ms = null;
  }

  stop(): void {
    this.stopped = true;
  }

  private add(stamp_ms: number): void {
    if (stamp_ms - (this.stamps_ms.at(-1) ?? stamp_ms) > LONGEST_PAUSE_MS) this.stamps_ms = [];
    this.stamps_ms.push(stamp_ms);
    if (this.stamps_ms.length > 2 * MOST_STAMPS) this.stamps_ms = this.stamps_ms.slice(-MOST_STAMPS);
    this.unchecked++;
    if (this.interval_ms === null) this.measureFirst(stamp_ms - this.stamps_ms[0]!);
  }

  private measureFirst(span_ms: number): void {
    if (span_ms < LEAST_MS || this.stamps_ms.length < LEAST_STAMPS) return;
    const found = estimateInterval(this.stamps_ms);
    if (found && found.inStep < MOST && span_ms < MOST_MS) return;
    this.interval_ms = found ? usualInterval_ms(found.interval_ms) : COMMON_FRAME_MS;
    this.waiting.splice(0).forEach((resolve) => resolve());
  }

  /** Returns the new interval if the interval has changed, otherwise null. */
  private changed_ms(): number | null {
    if (this.interval_ms === null) return null;
    this.unchecked = 0;
    const latest = estimateInterval(this.stamps_ms.slice(-DRIFT_STAMPS));
    const before = estimateInterval(this.stamps_ms.slice(-2 * DRIFT_STAMPS, -DRIFT_STAMPS));
    if (!latest || !before || latest.inStep < MOST || differs(latest.interval_ms, before.interval_ms)) return null;
    const usual_ms = usualInterval_ms(latest.interval_ms);
    return differs(usual_ms, this.interval_ms) ? usual_ms : null;
  }
}

function differs(one_ms: number, other_ms: number): boolean {
  return Math.abs(one_ms / other_ms - 1) > LEAST_DRIFT;
}

/** Measures the display's frame interval, for experiments of other people. */
export async function measureFrameInterval_ms(): Promise<number> {
  const meter = new FrameMeter();
  await meter.known();
  meter.stop();
  return meter.used_ms;
}

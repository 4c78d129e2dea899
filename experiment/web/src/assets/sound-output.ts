/** The page's sound output and its clock.
 *
 * Web Audio has its own clock, which counts samples. The browser reports, again and again, which sample is at the output and
 * at what time of `performance.now()`. A report can be wrong by some milliseconds, so the median of the reports of some seconds
 * is used. If the output was interrupted, as on a busy computer, earlier reports are wrong. Then the latest reports differ
 * from the earlier reports, and only the latest are used.
 */

/** Reports of this time are kept. The clocks of computers and sound cards differ by less than 1 ms in this time. */
const KEPT_MS = 4_000;
/** Reports of this time show whether the output was interrupted. */
const LATEST_MS = 500;
const BETWEEN_REPORTS_MS = 50;
/** Difference between the latest and the earlier reports that only an interruption makes. */
const INTERRUPTED_MS = 3;
/** Additional time that the browser needs to begin a sound. */
const RESERVE_MS = 20;

interface Report {
  now_ms: number;
  /** Time of a sample at the output by `performance.now()`, minus its time by the audio clock. */
  output_ms: number;
  /** The same for the sample that the browser computes next. */
  computed_ms: number;
}

export class SoundOutput {
  readonly context = new AudioContext({ latencyHint: "interactive" });
  private reports: Report[] = [];

  constructor() {
    setInterval(() => this.note(), BETWEEN_REPORTS_MS);
    // Browsers let a page begin sounds only after a click, a tap or a key, some only during it.
    for (const type of ["pointerup", "keydown", "click"]) document.addEventListener(type, () => void this.allow(), { capture: true });
    void this.allow();
  }

  get isRunning(): boolean {
    return this.context.state === "running";
  }

  /** Lets the output run, if the browser allows it now. Some browsers reply only when they allow it. */
  async allow(): Promise<boolean> {
    if (!this.isRunning) await this.context.resume().catch(() => {});
    return this.isRunning;
  }

  /** Delay of the output as the browser reports it; null if the browser reports none. */
  get latency_ms(): number | null {
    return this.context.outputLatency > 0 ? 1_000 * this.context.outputLatency : null;
  }

  /** Shortest time from a call until its sound is at the output. Rounded up, so that it is the same for most sounds. */
  get lead_ms(): number {
    const latest = this.since(performance.now() - LATEST_MS);
    const earliest_ms = Math.min(...latest.map(({ computed_ms }) => computed_ms));
    return Math.ceil((median(latest) - earliest_ms + RESERVE_MS) / 10) * 10;
  }

  /** Returns the audio time of the sample that is at the output at a time of `performance.now()`. */
  audioTime_s(at_ms: number): number {
    return (at_ms - this.offset_ms(performance.now() - LATEST_MS)) / 1_000;
  }

  /** Returns the time of `performance.now()` at which a sample of the last seconds was at the output. */
  outputTime_ms(audio_s: number): number {
    const at_ms = 1_000 * audio_s;
    return at_ms + this.offset_ms(at_ms + median(this.since(0)));
  }

  /** Returns the difference between the two clocks. `since_ms` is the beginning of the latest reports. */
  private offset_ms(since_ms: number): number {
    const [usual_ms, latest_ms] = [median(this.since(0)), median(this.since(since_ms))];
    return Math.abs(latest_ms - usual_ms) > INTERRUPTED_MS ? latest_ms : usual_ms;
  }

  /** Returns the reports since a time, or the latest report. */
  private since(since_ms: number): Report[] {
    this.note();
    const found = this.reports.filter(({ now_ms }) => now_ms >= since_ms);
    return found.length > 0 ? found : this.reports.slice(-1);
  }

  private note(): void {
    if (!this.isRunning) {
      this.reports = [];
      return;
    }
    const now_ms = performance.now();
    const computed_ms = now_ms - 1_000 * this.context.currentTime;
    const { contextTime = 0, performanceTime = 0 } = this.context.getOutputTimestamp();
    const isKnown = contextTime > 0 && performanceTime > 0; // some browsers report zeros, at the beginning or always
    const output_ms = isKnown ? performanceTime - 1_000 * contextTime : computed_ms + (this.latency_ms ?? 1_000 * this.context.baseLatency);
    this.reports = this.reports.filter((report) => report.now_ms > now_ms - KEPT_MS);
    this.reports.push({ now_ms, output_ms, computed_ms });
  }
}

function median(reports: Report[]): number {
  const sorted = reports.map(({ output_ms }) => output_ms).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

let output: SoundOutput | null = null;

/** Returns the sound output of this page. */
export function soundOutput(): SoundOutput {
  return (output ??= new SoundOutput());
}

/** Opens the output as soon as the browser allows it. After some seconds its clock is known. */
export function openSoundOutput(): void {
  if (navigator.userActivation?.hasBeenActive) soundOutput();
  else for (const type of ["click", "keydown"]) document.addEventListener(type, () => soundOutput(), { once: true });
}

/** Signals of a trial: events other than the response, such as a hidden page, a copied text or a program's clicks. The
 * client records these events for the analysis. They have no effect on the session.
 */
import type { SignalName, Signals } from "./saving/server-api";
import { RULES_CLOSED, RULES_OPENED } from "./pages/rules-dialog";
import { isTranslated } from "./translation";

/** Resize events that are closer together than this count as one change of the window's size. */
const ONE_RESIZING_MS = 500;

/** A response that comes sooner after the onset is not a reaction to the stimulus: perception and movement alone take
 * about 100 ms (Luce, 1986; Whelan, 2008). Simple reactions of 150 ms are real. The signal changes nothing in the session.
 */
const TOO_FAST_MS = 100;

export class TrialSignals {
  private counts: Signals = {};
  private losses = 0;
  private away = false;
  private awaySince_ms: number | null;
  private lastResized_ms = -Infinity;
  private rulesSince_ms: number | null = null;
  private listening = new AbortController();

  /** Begins to count. */
  constructor() {
    this.awaySince_ms = document.hidden || !document.hasFocus() ? performance.now() : null;
    const { signal } = this.listening;
    window.addEventListener("blur", () => this.leave(), { signal });
    window.addEventListener("focus", () => this.comeBack(), { signal });
    window.addEventListener("resize", ({ timeStamp }) => this.resized(timeStamp), { signal });
    const onDocument = { signal, capture: true };
    document.addEventListener("visibilitychange", () => this.visibility(), onDocument);
    document.addEventListener("fullscreenchange", () => document.fullscreenElement || this.count("fullscreen_left"), onDocument);
    document.addEventListener("paste", () => this.count("pasted"), onDocument);
    for (const taking of ["copy", "cut"]) document.addEventListener(taking, () => this.count("copied"), onDocument);
    document.addEventListener(RULES_OPENED, () => this.openRules(), { signal });
    document.addEventListener(RULES_CLOSED, () => this.closeRules(), { signal });
    for (const acting of ["keydown", "click"]) {
      document.addEventListener(acting, ({ isTrusted }) => isTrusted || this.count("untrusted"), onDocument);
    }
  }

  count(name: SignalName, number = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + number;
  }

  /** Stops counting. */
  stop(): void {
    this.listening.abort();
    this.endAway();
    this.closeRules();
  }

  /** Stops counting and returns the counts. `focus_lost` is the number of times that the page lost the focus. */
  record(rt_ms: number | null): { focus_lost: number; signals: Signals | null } {
    this.stop();
    if (rt_ms !== null && rt_ms < TOO_FAST_MS) this.count("too_fast");
    if (isTranslated()) this.count("translated");
    return { focus_lost: this.losses, signals: Object.keys(this.counts).length > 0 ? this.counts : null };
  }

  private visibility(): void {
    if (!document.hidden) return this.comeBack();
    this.count("hidden");
    this.leave();
  }

  private leave(): void {
    // A change of tab blurs the page and hides it. Count both events as one loss of focus.
    if (!this.away) this.losses++;
    this.away = true;
    this.awaySince_ms ??= performance.now();
  }

  private comeBack(): void {
    this.away = document.hidden;
    if (!this.away) this.endAway();
  }

  private endAway(): void {
    if (this.awaySince_ms === null) return;
    const away_ms = Math.round(performance.now() - this.awaySince_ms);
    if (away_ms > 0) this.count("away_ms", away_ms);
    this.awaySince_ms = null;
  }

  private openRules(): void {
    this.count("rules_opened");
    this.rulesSince_ms = performance.now();
  }

  private closeRules(): void {
    if (this.rulesSince_ms !== null) this.count("rules_ms", Math.round(performance.now() - this.rulesSince_ms));
    this.rulesSince_ms = null;
  }

  private resized(at_ms: number): void {
    if (at_ms - this.lastResized_ms > ONE_RESIZING_MS) this.count("resized");
    this.lastResized_ms = at_ms;
  }
}

/** How much time the rest of a session takes, from the participant's own pace on this page. */
import { say, TEXTS_LANGUAGE } from "../pages/texts";

/** Before this number of questions, the pace is not known. */
const FEWEST_QUESTIONS = 5;

/** From this number of questions of one task, the pace of this task is known. */
const FEWEST_OF_TASK = 3;

const MINUTE_MS = 60_000;

/** The numbers of minutes that are shown. */
const SHOWN_MINUTES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105, 120, 150, 180];

/** A break between questions, in place of the name of a task. */
export const BREAK = "break";

export class Pace {
  private durations_ms = new Map<string, number[]>();
  private begun: { part: string; at_ms: number } | null = null;
  private minutes: number | null = null;

  constructor(private now_ms = () => performance.now()) {}

  /** Notes that a part of the session begins: a question (the name of its task) or a break. The part before it ends.
   * Null is a part that says nothing about the pace, such as practice.
   */
  begin(part: string | null): void {
    const at_ms = this.now_ms();
    if (this.begun) {
      const { part: ended, at_ms: began_ms } = this.begun;
      this.durations_ms.set(ended, [...(this.durations_ms.get(ended) ?? []), at_ms - began_ms]);
    }
    this.begun = part === null ? null : { part, at_ms };
  }

  /** Returns the minutes that the coming parts take, or null if the pace is not known. The number changes seldom: it stays
   * until the estimate differs from it by more than 15 % and half a minute.
   */
  minutesFor(coming: string[]): number | null {
    const questions_ms = [...this.durations_ms].flatMap(([part, durations]) => (part === BREAK ? [] : durations));
    if (questions_ms.length < FEWEST_QUESTIONS) return null;
    const usual_ms = median(questions_ms);
    const left_ms = coming.map((part) => this.usual_ms(part) ?? (part === BREAK ? 0 : usual_ms)).reduce((sum, one) => sum + one, 0);
    const left = left_ms / MINUTE_MS;
    if (this.minutes === null || Math.abs(left - this.minutes) > 0.15 * this.minutes + 0.5) this.minutes = nearest(left);
    return this.minutes;
  }

  /** Returns the median duration of a part, or null if it is not known. */
  private usual_ms(part: string): number | null {
    const durations = this.durations_ms.get(part) ?? [];
    return durations.length >= (part === BREAK ? 1 : FEWEST_OF_TASK) ? median(durations) : null;
  }
}

/** Says how many minutes are left, with the plural of the language; an empty text for null. */
export function sayMinutesLeft(minutes: number | null): string {
  if (minutes === null) return "";
  const unit = new Intl.NumberFormat(TEXTS_LANGUAGE, { style: "unit", unit: "minute", unitDisplay: "long", numberingSystem: "latn" });
  return say("minutes_left", { minutes: unit.format(minutes) });
}

function median(numbers: number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

function nearest(minutes: number): number {
  return SHOWN_MINUTES.reduce((best, one) => (Math.abs(one - minutes) < Math.abs(best - minutes) ? one : best));
}

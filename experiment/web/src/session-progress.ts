/** Progress of a session: the next trial, and the progress display. The display counts only one round of practice. */
import type { Practice, Session, SessionTrial } from "./saving/server-api";
import { say } from "./pages/texts";
import { BREAK, Pace, sayMinutesLeft } from "./timing/pace";

/** Tasks whose trials take a second or less. Minutes that run down would put participants under pressure. */
const SPEEDED: readonly string[] = ["keypress"];

/** Position of a trial: in words, and as a number from 0 to `total`. */
export interface TrialPosition {
  words: string;
  answered: number;
  total: number;
}

export class SessionProgress {
  next_trial_index: number;
  /** Result of the last completed practice round; null without a practice criterion. */
  practice: Practice | null = null;
  /** Number of trials in one practice round. */
  private round: number;
  private practiceTrials: number;
  private pace = new Pace();

  constructor(private session: Session) {
    this.next_trial_index = session.next_trial_index;
    this.practiceTrials = session.trials.filter(isPractice).length;
    this.round = this.practiceTrials / session.practice_rounds;
  }

  get trial(): SessionTrial | undefined {
    return this.session.trials[this.next_trial_index];
  }

  get questions(): number {
    return this.session.trials.length - this.practiceTrials;
  }

  /** Returns the number of questions before a trial. Practice trials are not counted. */
  questionsBefore({ trial_index }: SessionTrial): number {
    return Math.max(0, trial_index - this.practiceTrials);
  }

  /** Notes that a trial begins, before the participant sees any part of it. */
  begin(trial: SessionTrial): void {
    this.pace.begin(isPractice(trial) ? null : trial.task);
  }

  /** Notes that a break begins. */
  beginBreak(): void {
    this.pace.begin(BREAK);
  }

  /** Says how much time is left at a break before a trial. Empty before enough questions, from which the pace is known. */
  minutesLeft({ trial_index }: SessionTrial): string {
    const { breaks, trials } = this.session;
    const coming = trials.slice(trial_index).flatMap((trial) => {
      const hasBreak = trial.trial_index > trial_index && breaks?.before.includes(trial.trial_index);
      return hasBreak ? [BREAK, trial.task] : [trial.task];
    });
    return sayMinutesLeft(this.pace.minutesFor(coming));
  }

  /** Says the same beside the progress of a trial. Empty if the trial has a time limit: minutes would add pressure. */
  minutesLeftAt(trial: SessionTrial): string {
    const isTimed = this.session.deadline_ms !== null || SPEEDED.includes(trial.task);
    return isTimed || isPractice(trial) ? "" : this.minutesLeft(trial);
  }

  beginsRound({ trial_index }: SessionTrial): boolean {
    return trial_index % this.round === 0;
  }

  /** Moves to the next trial, or to the trial in the practice result. If the practice ends the session, moves past the
   * last trial.
   */
  advance(practice?: Practice): void {
    this.next_trial_index++;
    if (!practice) return;
    this.practice = practice;
    this.next_trial_index = practice.ended ? this.session.trials.length : practice.next_trial_index;
  }

  /** Returns the position of a trial, or the end if there is no trial. */
  position(trial = this.trial): TrialPosition {
    const total = this.round + this.questions;
    if (!trial) return { words: "", answered: total, total };
    if (isPractice(trial)) {
      const answered = trial.trial_index % this.round;
      const words = say(this.round > 1 ? "practice_of" : "practice", { number: answered + 1, total: this.round });
      return { words, answered, total };
    }
    const before = this.questionsBefore(trial);
    return { words: say("question_of", { number: before + 1, total: this.questions }), answered: this.round + before, total };
  }
}

export function isPractice({ phase }: SessionTrial): boolean {
  return phase === "practice";
}

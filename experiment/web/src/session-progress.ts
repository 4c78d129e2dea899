/** Progress of a session: the next trial, and the progress display. The display counts only one round of practice. */
import type { Practice, Session, SessionTrial } from "./saving/server-api";
import { say } from "./pages/texts";

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

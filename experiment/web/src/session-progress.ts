/** How far a session has come: which trial is next, and what a participant is told of it. Rounds of practice count once. */
import type { Practice, Session, SessionTrial } from "./saving/server-api";
import { say } from "./pages/texts";

/** Where a trial stands, in words, and on a scale from 0 to `total`. */
export interface TrialPosition {
  words: string;
  answered: number;
  total: number;
}

export class SessionProgress {
  next_trial_index: number;
  /** How the round of practice went that was answered last, if so much of it must be right. */
  practice: Practice | null = null;
  /** How many trials one round of practice has. */
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

  /** How many questions come before a trial; those of the practice are none. */
  questionsBefore({ trial_index }: SessionTrial): number {
    return Math.max(0, trial_index - this.practiceTrials);
  }

  beginsRound({ trial_index }: SessionTrial): boolean {
    return trial_index % this.round === 0;
  }

  /** Goes on to the next trial, or to where the practice leads; past the last one if the practice is the end. */
  advance(practice?: Practice): void {
    this.next_trial_index++;
    if (!practice) return;
    this.practice = practice;
    this.next_trial_index = practice.ended ? this.session.trials.length : practice.next_trial_index;
  }

  /** Where a trial stands; the end for none. */
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

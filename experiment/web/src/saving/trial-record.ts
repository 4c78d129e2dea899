/** Record of a trial: counts the attempt, passes the response to the outbox, and moves to the next trial. */
import type { JsPsych } from "jspsych";
import type { Ended, Feedback, Session, SessionTrial, TrialData } from "./server-api";
import { begunTrial, rememberBegun } from "./trial-attempts";
import { type SessionProgress, isPractice } from "../session-progress";
import type { Outbox } from "./outbox";
import type { TrialFeedback } from "../run-trial";
import type { StudyBar } from "../pages/study-bar";
import { say } from "../pages/texts";
import { uuid4 } from "./uuid";

interface Surroundings {
  jsPsych: JsPsych;
  bar: StudyBar;
  outbox: Outbox;
  onEnded: (ended: Ended) => void;
}

/** Returns the feedback, with a note if the practice is over. */
export function withNote(feedback: Feedback, progress: SessionProgress): TrialFeedback {
  const practiceIsOver = !progress.practice?.ended && !(progress.trial && isPractice(progress.trial));
  return { ...feedback, note: practiceIsOver ? say("last_practice") : "" };
}

export class TrialRecord {
  /** Number of the attempt at the trial, from 1. */
  attempt = 1;

  constructor(
    private trial: SessionTrial,
    private session: Session,
    private progress: SessionProgress,
    private surroundings: Surroundings,
  ) {}

  /** Begins the trial, before the participant sees any part of it. */
  begin(): void {
    const begun = begunTrial(this.session.session);
    this.attempt = begun?.trial_index === this.trial.trial_index ? begun.attempt + 1 : 1;
    this.progress.begin(this.trial);
    this.surroundings.bar.showTrial(this.progress.position(this.trial), this.progress.minutesLeftAt(this.trial));
  }

  /** Remembers that the stimulus was visible. If the page is closed after this, the trial is interrupted. */
  remember(): void {
    rememberBegun(this.session.session, { trial_index: this.trial.trial_index, attempt: this.attempt });
  }

  /** Passes the response to the outbox. Resolves with the feedback in practice; otherwise resolves at once with null. */
  async respond(data: TrialData, trial_type: string, plugin_version: string | null): Promise<TrialFeedback | null> {
    const { jsPsych, bar, outbox, onEnded } = this.surroundings;
    const { trial, progress } = this;
    bar.closeRules();
    if (data.missing) bar.announce(say("time_over"));
    const stored = outbox.add({
      response_id: uuid4(),
      session: this.session.session,
      visit: this.session.visit,
      trial_index: trial.trial_index,
      attempt: this.attempt,
      ...data,
      jspsych: { trial_type, plugin_version, time_elapsed_ms: Math.round(jsPsych.getTotalTime()) },
    });
    const feedback = isPractice(trial) ? await stored : null;
    progress.advance(feedback?.practice);
    if (progress.practice?.ended) onEnded(progress.practice.ended);
    return feedback && withNote(feedback, progress);
  }
}

/** The course that every trial of ours takes: fixation, stimulus until answered, and in practice the server's feedback. */
import type { JsPsych } from "jspsych";
import type { Answer, Feedback, TrialTiming } from "./api";
import { html } from "./dom";
import { showAfterFixation, untilFrameBetweenTrials } from "./fixation";
import { countFocusLosses } from "./focus-lost";
import { firstText, watchOnset } from "./onset";
import { say, TEXTS_LANGUAGE } from "./texts";

/** What a plugin puts on the screen. It is built whole beforehand, so that showing it takes one frame. */
export interface Stimulus<A extends Answer> {
  element: HTMLElement;
  /** Resolves with the participant's answer; called in the frame of the onset. What was pressed before `open_ms` is none. */
  answered(open_ms: number): Promise<{ response: A; answered_ms: number }>;
  /** Marks the right answer on the stimulus, which is still on the screen and takes no answers any more. */
  showSolution(solution: unknown): void;
}

export type TrialData<A extends Answer> = TrialTiming & { response: A };

export interface TrialParameters {
  fixation_ms: number;
  frame_ms: number;
  feedback_note: string;
  continue_label: string;
  /** Takes the data of the trial as soon as it is answered; what it resolves to is shown as feedback. */
  on_response: (data: TrialData<Answer>) => Promise<Feedback | null>;
}

/** Whoever plays the participant in a visual simulation. */
export interface SimulatedParticipant {
  answer(): void;
  continue(button: HTMLElement): void;
}

export async function runTrial<A extends Answer>(
  display: HTMLElement,
  build: () => Stimulus<A>,
  trial: TrialParameters,
  on_load: () => void,
  simulated?: SimulatedParticipant,
): Promise<TrialData<A>> {
  const focusLosses = countFocusLosses();
  let stimulus!: Stimulus<A>;
  const { end_ms, ...fixation } = await showAfterFixation(
    display,
    () => {
      stimulus = build();
      firstText(stimulus.element).setAttribute("elementtiming", "stimulus");
      on_load(); // with the cross on the screen there is time for what else a page does for each trial
      return stimulus.element;
    },
    trial.fixation_ms,
    trial.frame_ms,
  );
  const onset = watchOnset(stimulus.element, end_ms);
  // Screen readers begin to read here; after the paint, to keep the frame of the onset short.
  setTimeout(() => stimulus.element.focus({ preventScroll: true }));
  const answered = stimulus.answered(end_ms + trial.frame_ms); // nobody has seen anything before the frame is over
  simulated?.answer();

  const { response, answered_ms } = await answered;
  const { onset_ms, onset_source } = await onset();
  const data = {
    response,
    rt_ms: Math.max(0, answered_ms - onset_ms),
    ...fixation,
    frame_ms: trial.frame_ms,
    shown_at: new Date(Date.now() - (performance.now() - onset_ms)).toISOString(),
    onset_source,
    focus_lost: focusLosses(),
  };
  const panel = html("section", { class: "feedback", role: "status" }, html("p", { lang: TEXTS_LANGUAGE }, say("checking")));
  // Only a practice trial waits for the server, and only then is there something to say.
  const waiting = setTimeout(() => stimulus.element.append(panel), 150);
  const feedback = await trial.on_response(data);
  clearTimeout(waiting);
  if (feedback) {
    stimulus.element.append(panel);
    stimulus.showSolution(feedback.solution);
    await untilContinued(panel, feedback, trial, simulated);
  }
  await untilFrameBetweenTrials(); // what was answered stays on the screen until the next fixation takes its place
  return data;
}

function untilContinued(
  panel: HTMLElement,
  feedback: Feedback,
  trial: TrialParameters,
  simulated?: SimulatedParticipant,
): Promise<void> {
  const button = html("button", { id: "feedback-continue", class: "primary", type: "button", lang: TEXTS_LANGUAGE }, trial.continue_label);
  const message = html("p", { class: feedback.correct ? "verdict right" : "verdict wrong" }, feedback.message);
  panel.replaceChildren(message);
  if (trial.feedback_note) panel.append(html("p", { lang: TEXTS_LANGUAGE }, trial.feedback_note));
  panel.append(button);
  panel.scrollIntoView({ block: "nearest" });
  button.focus({ preventScroll: true });
  return new Promise((resolve) => {
    button.addEventListener("click", () => resolve(), { once: true });
    simulated?.continue(button);
  });
}

/** The timings of a trial in a data-only simulation, where nothing is shown: as they would be on a perfect display. */
export function simulatedTiming(jsPsych: JsPsych, { fixation_ms, frame_ms }: TrialParameters): TrialTiming {
  const fixation_frames = Math.round(fixation_ms / frame_ms);
  return {
    rt_ms: jsPsych.randomization.sampleExGaussian(500, 50, 1 / 150, true),
    fixation_ms: fixation_frames * frame_ms,
    fixation_frames,
    fixation_frames_intended: fixation_frames,
    frame_ms,
    frames_dropped: 0,
    shown_at: new Date().toISOString(),
    onset_source: "presented",
    focus_lost: 0,
  };
}

/** The course of every trial of our plugins: fixation, stimulus until a response, and in practice the server's
 * feedback.
 */
import type { JsPsych } from "jspsych";
import { ResponseWindow } from "./timing/response-window";
import type { Answer, Feedback, TrialData } from "./saving/server-api";
import { html } from "./pages/dom";
import { keepFramesComing, showAfterFixation, untilFrameBetweenTrials } from "./timing/fixation";
import { firstText, type Onset, watchOnset } from "./timing/onset";
import { inputOf } from "./timing/input-events";
import { TrialSignals } from "./signals";
import { say, TEXTS_LANGUAGE } from "./pages/texts";
import type { TimeBounds } from "./timing/time-hints";

/** A plugin's content on the screen. It is built completely in advance, so that showing it takes one frame. */
export interface Stimulus<A extends Answer> {
  element: HTMLElement;
  /** The controls for responses; marked as disabled while none are accepted. */
  controls: Element[];
  /** Resolves with the participant's response and its event, the first that `answers` accepts. */
  answered(answers: ResponseWindow): Promise<Answered<A>>;
  /** Shows that no responses are accepted any more; the stimulus stays on the screen. */
  close(): void;
  /** Marks the right answer on the stimulus, which is closed. */
  showSolution(solution: unknown): void;
}

export interface Answered<A extends Answer> {
  response: A;
  event: Event;
}

export interface TrialParameters extends TimeBounds {
  fixation_ms: number;
  frame_ms: number;
  continue_label: string;
  on_shown: () => void;
  /** Receives the data of the trial as soon as there is a response; its result is shown as feedback. */
  on_response: (data: TrialData) => Promise<TrialFeedback | null>;
}

/** Feedback on the screen, with a remark below it. */
export type TrialFeedback = Feedback & { note?: string };

/** The program that plays the participant in a visual simulation. */
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
  const counted = new TrialSignals();
  const answers = new ResponseWindow(() => counted.count("too_early"));
  let stimulus!: Stimulus<A>;
  let answered!: Promise<Answered<A>>;
  const { end_ms, ...fixation } = await showAfterFixation(
    display,
    () => {
      stimulus = build();
      firstText(stimulus.element).setAttribute("elementtiming", "stimulus");
      if (trial.reading_ms > 0) markReading(stimulus, true);
      answered = stimulus.answered(answers);
      on_load(); // with the cross on the screen there is time for what else a page does for each trial
      return stimulus.element;
    },
    trial.fixation_ms,
    trial.frame_ms,
  );
  const onset = watchOnset(stimulus.element, end_ms);
  if (trial.reading_ms === 0) void answers.open(end_ms + trial.frame_ms); // before, nobody has seen anything
  const timeIsOver = keepTime(stimulus, answers, onset, trial);
  void keepFramesComing(stimulus.element).then(() => {
    answers.close();
    counted.stop();
  });
  setTimeout(() => {
    // Screen readers start reading here; after the paint, to keep the frame of the onset short.
    stimulus.element.focus({ preventScroll: true });
    trial.on_shown();
  });
  simulated?.answer();

  const answer = await Promise.race([answered, timeIsOver]);
  if (!stimulus.element.isConnected) return new Promise(() => {}); // the experiment was aborted meanwhile
  answers.close();
  // Nothing changes on the screen: a frame drawn for it would delay the one with the next cross.
  const happened = counted.stop();
  const { onset_ms, onset_source } = await onset();
  const data: TrialData<A> = {
    response: answer && answer.response,
    missing: answer ? null : "deadline",
    input: answer && inputOf(answer.event),
    rt_ms: answer && Math.max(0, answer.event.timeStamp - onset_ms),
    ...fixation,
    frame_ms: trial.frame_ms,
    shown_at: new Date(Date.now() - (performance.now() - onset_ms)).toISOString(),
    onset_source,
    ...happened,
  };
  const panel = html("section", { class: "feedback", role: "status" }, html("p", { lang: TEXTS_LANGUAGE }, say("checking")));
  // Only a practice trial waits for the server, and only then is there feedback.
  const waiting = setTimeout(() => stimulus.element.append(panel), 150);
  const feedback = await trial.on_response(data);
  clearTimeout(waiting);
  if (feedback) {
    stimulus.close();
    stimulus.element.append(panel);
    stimulus.showSolution(feedback.solution);
    await untilContinued(panel, feedback, trial, simulated);
  }
  await untilFrameBetweenTrials(); // what was answered stays on the screen until the next fixation takes its place
  return data;
}

/** Accepts responses from the end of the time for reading; resolves when the deadline has passed, if there is one. */
async function keepTime<A extends Answer>(
  stimulus: Stimulus<A>,
  answers: ResponseWindow,
  onset: () => Promise<Onset>,
  { reading_ms, deadline_ms }: TimeBounds,
): Promise<null> {
  if (reading_ms > 0 || deadline_ms !== null) {
    const { onset_ms } = await onset();
    if (reading_ms > 0) void answers.open(onset_ms + reading_ms).then(() => markReading(stimulus, false));
    if (deadline_ms !== null) {
      await answers.deadline(onset_ms + deadline_ms);
      return null;
    }
  }
  return new Promise(() => {});
}

/** Shows if there is still time to read first. `aria-disabled` leaves the tab key's way through the page unchanged. */
function markReading<A extends Answer>({ element, controls }: Stimulus<A>, reading: boolean): void {
  element.classList.toggle("reading", reading);
  for (const control of controls) {
    if (reading) control.setAttribute("aria-disabled", "true");
    else control.removeAttribute("aria-disabled");
  }
}

function untilContinued(
  panel: HTMLElement,
  feedback: TrialFeedback,
  trial: TrialParameters,
  simulated?: SimulatedParticipant,
): Promise<void> {
  const button = html("button", { id: "feedback-continue", class: "primary", type: "button", lang: TEXTS_LANGUAGE }, trial.continue_label);
  const message = html("p", { class: feedback.correct ? "verdict right" : "verdict wrong" }, feedback.message);
  panel.replaceChildren(message);
  if (feedback.note) panel.append(html("p", { lang: TEXTS_LANGUAGE }, feedback.note));
  panel.append(button);
  panel.scrollIntoView({ block: "nearest" });
  button.focus({ preventScroll: true });
  return new Promise((resolve) => {
    button.addEventListener("click", () => resolve(), { once: true });
    simulated?.continue(button);
  });
}

/** The record of a trial in a data-only simulation, where nothing is shown: as on a perfect display. */
export function simulatedData<A extends Answer>(jsPsych: JsPsych, trial: TrialParameters, response: A): TrialData<A> {
  const { fixation_ms, frame_ms, reading_ms, deadline_ms } = trial;
  const rt_ms = reading_ms + jsPsych.randomization.sampleExGaussian(500, 50, 1 / 150, true);
  const inTime = deadline_ms === null || rt_ms <= deadline_ms;
  const fixation_frames = Math.round(fixation_ms / frame_ms);
  return {
    response: inTime ? response : null,
    missing: inTime ? null : "deadline",
    input: inTime ? "key" : null,
    rt_ms: inTime ? rt_ms : null,
    fixation_ms: fixation_frames * frame_ms,
    fixation_frames,
    fixation_frames_intended: fixation_frames,
    frame_ms,
    frames_dropped: 0,
    shown_at: new Date().toISOString(),
    onset_source: "presented",
    focus_lost: 0,
    signals: null,
  };
}

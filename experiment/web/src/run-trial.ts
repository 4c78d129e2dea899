/** A trial of our plugins: fixation, then the stimulus until a response, then in practice the server's feedback. */
import type { JsPsych } from "jspsych";
import type { StimulusParts } from "./assets/stimulus-parts";
import { ResponseWindow } from "./timing/response-window";
import type { Feedback, Presentation, ResponseValue, TrialData } from "./saving/server-api";
import { html } from "./pages/dom";
import { keepFramesComing, showAfterFixation, untilFrameBetweenTrials } from "./timing/fixation";
import { askForOnset, type Onset, watchOnset } from "./timing/onset";
import { inputOf } from "./timing/input-events";
import { TrialSignals } from "./signals";
import { say, TEXTS_LANGUAGE } from "./pages/texts";
import type { TimeBounds } from "./timing/time-hints";
import { TimeLeft } from "./timing/time-left";

/** A plugin's content on the screen. The content is built completely before its onset, and appears within one frame. */
export interface Stimulus<R extends ResponseValue> {
  element: HTMLElement;
  /** The controls for responses. They are marked as disabled while no response is accepted. */
  controls: Element[];
  /** The pictures and sounds of the stimulus, if the task can have them. */
  media?: StimulusParts;
  /** Resolves with the first response that `responseWindow` accepts, and the input event of the response. */
  responded(responseWindow: ResponseWindow): Promise<GivenResponse<R>>;
  /** Shows that no more responses are accepted. The stimulus stays on the screen. */
  close(): void;
  /** Marks a response that was given before. */
  showResponse(response: R): void;
  /** Marks the right answer on the closed stimulus. */
  showSolution(solution: unknown): void;
}

export interface GivenResponse<R extends ResponseValue> {
  response: R;
  event: Event;
}

export interface TrialParameters extends TimeBounds {
  fixation_ms: number;
  frame_ms: number;
  continue_label: string;
  on_shown: () => void;
  /** Receives the trial's data as soon as there is a response. A result that is not null is shown as feedback. */
  on_response: (data: TrialData) => Promise<TrialFeedback | null>;
}

/** Feedback on the screen, with an optional remark below the feedback. */
export type TrialFeedback = Feedback & { note?: string };

/** The program that acts for the participant in a visual simulation. */
export interface SimulatedParticipant {
  respond(): void;
  continue(button: HTMLElement): void;
}

export async function runTrial<R extends ResponseValue>(
  display: HTMLElement,
  build: () => Stimulus<R>,
  trial: TrialParameters,
  on_load: () => void,
  simulated?: SimulatedParticipant,
): Promise<TrialData<R>> {
  const counted = new TrialSignals();
  const responseWindow = new ResponseWindow(() => counted.count("too_early"));
  const timeLeft = trial.deadline_ms === null ? null : new TimeLeft(trial.deadline_ms);
  let stimulus!: Stimulus<R>;
  let responded!: Promise<GivenResponse<R>>;
  const { end_ms, ...fixation } = await showAfterFixation(
    display,
    () => {
      stimulus = build();
      if (timeLeft) stimulus.element.prepend(timeLeft.element);
      askForOnset(stimulus.element);
      if (trial.reading_ms > 0) markReading(stimulus, true);
      responded = stimulus.responded(responseWindow);
      on_load(); // while the fixation cross is visible, the page has time for its other work on the trial
      return stimulus;
    },
    trial.fixation_ms,
    trial.frame_ms,
  );
  stimulus.media?.start(end_ms);
  const onset = watchOnset(stimulus.element, end_ms);
  if (trial.reading_ms === 0) void responseWindow.open(end_ms + trial.frame_ms); // earlier, the stimulus is not visible
  const timeIsOver = keepTime(stimulus, responseWindow, onset, timeLeft, trial);
  void keepFramesComing(stimulus.element).then(() => {
    responseWindow.close();
    counted.stop();
    stimulus.media?.stop();
  });
  setTimeout(() => {
    // Screen readers begin to read the focused stimulus. Focus it after the paint, to keep the onset frame short.
    stimulus.element.focus({ preventScroll: true });
    trial.on_shown();
  });
  simulated?.respond();

  const given = await Promise.race([responded, timeIsOver]);
  if (!stimulus.element.isConnected) return new Promise(() => {}); // the experiment was aborted during the trial
  responseWindow.close();
  // Do not change the screen now: another painted frame would delay the frame with the next fixation cross.
  counted.stop();
  const { onset_ms, onset_source } = await onset();
  const rt_ms = given && Math.max(0, given.event.timeStamp - onset_ms);
  const data: TrialData<R> = {
    response: given && given.response,
    missing: given ? null : "deadline",
    input: given && inputOf(given.event),
    rt_ms,
    ...fixation,
    frame_ms: trial.frame_ms,
    shown_at: new Date(Date.now() - (performance.now() - onset_ms)).toISOString(),
    onset_source,
    ...counted.record(rt_ms),
    presentation: presentationOf(stimulus, onset_ms),
  };
  const panel = feedbackPanel();
  // Only a practice trial waits for the server, because only practice has feedback.
  const waiting = setTimeout(() => stimulus.element.append(panel), 150);
  const feedback = await trial.on_response(data);
  clearTimeout(waiting);
  if (feedback) {
    await showFeedback(stimulus, panel, feedback, trial.continue_label, simulated);
  }
  await untilFrameBetweenTrials(); // the stimulus stays on the screen until the next fixation replaces it
  return data;
}

/** Returns the actual timing of the sounds; null if the stimulus has none. */
function presentationOf<R extends ResponseValue>({ media }: Stimulus<R>, onset_ms: number): Presentation | null {
  const sounds = media?.played(onset_ms) ?? [];
  return sounds.length > 0 ? { sounds } : null;
}

/** Makes the panel for the feedback. Until the feedback arrives, the panel says that the response is being checked. */
export function feedbackPanel(): HTMLElement {
  return html("section", { class: "feedback", role: "status" }, html("p", { lang: TEXTS_LANGUAGE }, say("checking")));
}

/** Accepts responses after the reading time. Resolves when the deadline has passed, or never if there is no deadline. */
async function keepTime<R extends ResponseValue>(
  stimulus: Stimulus<R>,
  responseWindow: ResponseWindow,
  onset: () => Promise<Onset>,
  timeLeft: TimeLeft | null,
  { reading_ms, deadline_ms }: TimeBounds,
): Promise<null> {
  if (reading_ms > 0 || deadline_ms !== null) {
    const { onset_ms } = await onset();
    if (reading_ms > 0) void responseWindow.open(onset_ms + reading_ms).then(() => markReading(stimulus, false));
    timeLeft?.start(onset_ms, responseWindow.closed);
    if (deadline_ms !== null) {
      await responseWindow.deadline(onset_ms + deadline_ms);
      return null;
    }
  }
  return new Promise(() => {});
}

/** Shows whether the reading time is running. `aria-disabled` does not change the order of the tab key. */
function markReading<R extends ResponseValue>({ element, controls }: Stimulus<R>, reading: boolean): void {
  element.classList.toggle("reading", reading);
  for (const control of controls) {
    if (reading) control.setAttribute("aria-disabled", "true");
    else control.removeAttribute("aria-disabled");
  }
}

/** Closes a stimulus and shows the feedback below it. Resolves when the participant continues. */
export function showFeedback<R extends ResponseValue>(
  stimulus: Stimulus<R>,
  panel: HTMLElement,
  feedback: TrialFeedback,
  continue_label: string,
  simulated?: SimulatedParticipant,
): Promise<void> {
  stimulus.close();
  stimulus.element.append(panel);
  stimulus.showSolution(feedback.solution);
  const button = html("button", { id: "feedback-continue", class: "primary", type: "button", lang: TEXTS_LANGUAGE }, continue_label);
  const message = html("p", { class: feedback.correct ? "verdict right" : "verdict wrong" }, feedback.message);
  panel.replaceChildren(message);
  if (feedback.note) panel.append(html("p", { lang: TEXTS_LANGUAGE }, feedback.note));
  panel.append(button);
  panel.scrollIntoView({ block: "nearest" });
  button.focus({ preventScroll: true });
  return new Promise((resolve) => {
    button.addEventListener("click", ({ detail }) => detail > 1 || resolve());
    simulated?.continue(button);
  });
}

/** Returns the record of a trial in a data-only simulation, which shows nothing: the timing of a display without errors. */
export function simulatedData<R extends ResponseValue>(jsPsych: JsPsych, trial: TrialParameters, response: R): TrialData<R> {
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
    presentation: null,
  };
}

/** A trial of our plugins: blank interval, fixation, screens, then the stimulus until a response, then the question about
 * confidence, and in practice the server's feedback.
 */
import type { JsPsych } from "jspsych";
import type { StimulusParts } from "./assets/stimulus-parts";
import { ResponseWindow } from "./timing/response-window";
import { askConfidence, simulatedConfidence } from "./confidence";
import { type BuiltScreen, buildScreen, showScreens } from "./screens";
import type { ConfidenceQuestion, Feedback, PlayedSound, Presentation, ResponseValue, Screen, Shown, TrialData } from "./saving/server-api";
import { html } from "./pages/dom";
import { keepFramesComing, showAfterFixation, showInterval, simulatedInterval, untilFrameBetweenTrials, untilShownFor } from "./timing/fixation";
import { askForOnset, type Onset, watchOnset } from "./timing/onset";
import { inputOf } from "./timing/input-events";
import { TrialSignals } from "./signals";
import { say, TEXTS_LANGUAGE } from "./pages/texts";
import type { TimeBounds } from "./timing/time-hints";
import { TimeLeft } from "./timing/time-left";

const NO_CONFIDENCE = { confidence: null, confidence_rt_ms: null };

/** A plugin's content on the screen. The content is built completely before its onset, and appears within one frame. */
export interface Stimulus<R extends ResponseValue> {
  element: HTMLElement;
  /** The controls for responses. They are marked as disabled while no response is accepted. */
  controls: Element[];
  /** The pictures and sounds of the stimulus, if the task can have them. */
  media?: StimulusParts;
  /** The response of a participant who lets the time pass, if this is a response and not a missing one. */
  withheld?: R | null;
  /** Begins to remove parts after their durations. `onset_ms` is the time stamp of the frame with the onset. Returns a
   * function that returns the parts that have disappeared.
   */
  removeInTime?(onset_ms: number, frame_ms: number, closed: AbortSignal): () => RemovedParts;
  /** Called when the stimulus appears, with the function that returns its onset. */
  begins?(onset: () => Promise<Onset>): void;
  /** Resolves with the first response that `responseWindow` accepts, and the input event of the response. */
  responded(responseWindow: ResponseWindow): Promise<GivenResponse<R>>;
  /** Shows that no more responses are accepted. The stimulus stays on the screen. */
  close(): void;
  /** Marks a response that was given before. */
  showResponse(response: R): void;
  /** Marks the right answer on the closed stimulus. */
  showSolution(solution: unknown): void;
}

/** The parts that disappeared before the response. */
export type RemovedParts = Pick<Presentation, "stimulus" | "mask">;

export interface GivenResponse<R extends ResponseValue> {
  response: R;
  event: Event;
}

export interface TrialParameters extends TimeBounds {
  /** The blank screen before the fixation; 0 for none. */
  intertrial_ms: number;
  fixation_ms: number;
  frame_ms: number;
  continue_label: string;
  /** The time after which the feedback closes by itself; null if the participant continues. */
  feedback_ms: number | null;
  /** The screens before the question; undefined for a task without a stimulus. */
  screens?: Screen[];
  /** The question about confidence after the response; null if it is not asked. */
  confidence: ConfidenceQuestion | null;
  /** The time limit of a task of fast responses, which is not shown as a bar. */
  window_ms?: number | null;
  on_shown: () => void;
  /** Receives the trial's data as soon as there is a response. A result that is not null is shown as feedback. */
  on_response: (data: TrialData) => Promise<TrialFeedback | null>;
}

/** Feedback on the screen, with an optional remark below the feedback. */
export type TrialFeedback = Feedback & { note?: string };

/** The program that acts for the participant in a visual simulation. */
export interface SimulatedParticipant {
  respond(): void;
  rateConfidence(question: ConfidenceQuestion): void;
  continue(button: HTMLElement): void;
}

export async function runTrial<R extends ResponseValue>(
  display: HTMLElement,
  keyboard: HTMLElement,
  build: () => Stimulus<R>,
  trial: TrialParameters,
  on_load: () => void,
  simulated?: SimulatedParticipant,
): Promise<TrialData<R>> {
  const { frame_ms } = trial;
  const interval = await showInterval(display, trial.intertrial_ms, frame_ms);
  if (interval === null) return new Promise(() => {}); // the experiment was aborted
  const counted = new TrialSignals();
  const responseWindow = new ResponseWindow(() => counted.count("too_early"));
  const timeLeft = trial.deadline_ms === null || trial.window_ms != null ? null : new TimeLeft(trial.deadline_ms);
  let stimulus!: Stimulus<R>;
  let screens!: BuiltScreen[];
  let responded!: Promise<GivenResponse<R>>;
  const { end_ms: start_ms, ...fixation } = await showAfterFixation(
    display,
    () => {
      stimulus = build();
      screens = (trial.screens ?? []).map(buildScreen);
      if (timeLeft) stimulus.element.prepend(timeLeft.element);
      askForOnset(stimulus.element);
      if (trial.reading_ms > 0) markReading(stimulus, true);
      responded = stimulus.responded(responseWindow);
      on_load(); // while the fixation cross is visible, the page has time for its other work on the trial
      const ready = Promise.all([...screens, stimulus].map(({ media }) => media?.ready));
      const first = screens[0] ?? stimulus;
      return { element: first.element, ready, prepare: (onset_ms) => first.media?.prepare(onset_ms) };
    },
    trial.fixation_ms,
    frame_ms,
    interval.end_ms,
  );
  if (screens.length > 0) setTimeout(trial.on_shown);
  const before = await showScreens({ display, keyboard, screens, next: stimulus, start_ms, frame_ms, simulated });
  if (before === null) {
    responseWindow.close();
    counted.stop();
    return new Promise(() => {}); // the experiment was aborted during a screen
  }
  const { end_ms } = before;
  stimulus.media?.start(end_ms);
  const removed = stimulus.removeInTime?.(end_ms, frame_ms, responseWindow.closed);
  const onset = watchOnset(stimulus.element, end_ms);
  stimulus.begins?.(onset);
  if (trial.reading_ms === 0) void responseWindow.open(end_ms + frame_ms); // earlier, the stimulus is not visible
  const timeIsOver = keepTime(stimulus, responseWindow, onset, timeLeft, trial);
  void keepFramesComing(stimulus.element).then(() => {
    responseWindow.close();
    counted.stop();
    stimulus.media?.stop();
  });
  setTimeout(() => {
    // Screen readers begin to read the focused stimulus. Focus it after the paint, to keep the onset frame short.
    stimulus.element.focus({ preventScroll: true });
    if (screens.length === 0) trial.on_shown();
  });
  simulated?.respond();

  const given = await Promise.race([responded, timeIsOver]);
  if (!stimulus.element.isConnected) return new Promise(() => {}); // the experiment was aborted during the trial
  responseWindow.close();
  // Do not change the screen now: another painted frame would delay the frame with the next fixation cross.
  counted.stop();
  const { onset_ms, onset_source } = await onset();
  const rt_ms = given && Math.max(0, given.event.timeStamp - onset_ms);
  const response = given ? given.response : (stimulus.withheld ?? null);
  const timed: TrialData<R> = {
    response,
    missing: response === null ? "deadline" : null,
    input: given && inputOf(given.event),
    rt_ms,
    ...fixation,
    frame_ms,
    shown_at: new Date(Date.now() - (performance.now() - onset_ms)).toISOString(),
    onset_source,
    ...counted.record(rt_ms),
    presentation: presentationOf(interval.shown, before.shown, removed?.(), stimulus.media?.played(onset_ms)),
    ...NO_CONFIDENCE,
  };
  const asked = response === null ? null : trial.confidence;
  const data = asked ? { ...timed, ...(await askConfidence(display, keyboard, asked, frame_ms, simulated)) } : timed;
  const panel = feedbackPanel();
  // Only a practice trial waits for the server, because only practice has feedback.
  const waiting = setTimeout(() => display.firstElementChild?.append(panel), 150);
  const feedback = await trial.on_response(data);
  clearTimeout(waiting);
  if (feedback) {
    if (asked) {
      display.replaceChildren(stimulus.element);
      void keepFramesComing(stimulus.element);
    }
    await showFeedback(stimulus, panel, feedback, trial, simulated);
  }
  await untilFrameBetweenTrials(); // the stimulus stays on the screen until the next fixation replaces it
  return data;
}

/** Returns the record of the interval, of the screens, of the parts that have disappeared, and of the sounds; null if there
 * are none.
 */
export function presentationOf(
  intertrial: Shown | null,
  screens: Shown[] = [],
  removed: RemovedParts = { stimulus: null, mask: null },
  sounds: PlayedSound[] = [],
): Presentation | null {
  return intertrial || screens.length > 0 || removed.stimulus || sounds.length > 0 ? { intertrial, screens, ...removed, sounds } : null;
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

/** Closes a stimulus and shows the feedback below it. Resolves when the participant continues, or after `feedback_ms`. */
export function showFeedback<R extends ResponseValue>(
  stimulus: Stimulus<R>,
  panel: HTMLElement,
  feedback: TrialFeedback,
  { continue_label, feedback_ms, frame_ms }: Pick<TrialParameters, "continue_label" | "feedback_ms" | "frame_ms">,
  simulated?: SimulatedParticipant,
): Promise<void> {
  stimulus.close();
  stimulus.element.append(panel);
  stimulus.showSolution(feedback.solution);
  const button = html("button", { id: "feedback-continue", class: "primary", type: "button", lang: TEXTS_LANGUAGE }, continue_label);
  const message = html("p", { class: feedback.correct ? "verdict right" : "verdict wrong" }, feedback.message);
  panel.replaceChildren(message);
  if (feedback.explanation) {
    const reasons = feedback.explanation.map((sentence) => html("li", {}, sentence));
    panel.append(html("ol", { class: "explanation", lang: TEXTS_LANGUAGE }, ...reasons));
  }
  if (feedback.note) panel.append(html("p", { lang: TEXTS_LANGUAGE }, feedback.note));
  if (feedback_ms === null) panel.append(button);
  panel.scrollIntoView({ block: "nearest" });
  if (feedback_ms !== null) return untilShownFor(panel, feedback_ms, frame_ms);
  button.focus({ preventScroll: true });
  return new Promise((resolve) => {
    button.addEventListener("click", ({ detail }) => detail > 1 || resolve());
    simulated?.continue(button);
  });
}

/** Returns the record of a trial in a data-only simulation, which shows nothing: the timing of a display without errors. */
export function simulatedData<R extends ResponseValue>(jsPsych: JsPsych, trial: TrialParameters, response: R, withheld: R | null): TrialData<R> {
  const { intertrial_ms, fixation_ms, frame_ms, reading_ms, deadline_ms, confidence } = trial;
  const rt_ms = reading_ms + jsPsych.randomization.sampleExGaussian(500, 50, 1 / 150, true);
  const inTime = response !== withheld && (deadline_ms === null || rt_ms <= deadline_ms);
  const given = inTime ? response : withheld;
  const fixation_frames = Math.round(fixation_ms / frame_ms);
  return {
    response: given,
    missing: given === null ? "deadline" : null,
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
    presentation: presentationOf(simulatedInterval(intertrial_ms, frame_ms)),
    ...(given !== null && confidence ? simulatedConfidence(jsPsych, confidence) : NO_CONFIDENCE),
  };
}

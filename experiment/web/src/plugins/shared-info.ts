/** Parameters and data that our trial plugins have in common, in jsPsych's form. */
import { ParameterType } from "jspsych";
import { say } from "../pages/texts";

export const trialParameters = {
  /** For how long the fixation cross is shown, in ms; rounded to whole frames of the display. */
  fixation_ms: { type: ParameterType.FLOAT, default: 200 },
  /** The display's frame interval, in ms, as `measureFrameInterval_ms` found it. */
  frame_ms: { type: ParameterType.FLOAT, default: 1000 / 60 },
  /** Time from onset before which no answer is taken, in ms. */
  reading_ms: { type: ParameterType.FLOAT, default: 0 },
  /** Time from onset after which the trial ends without an answer, in ms; null if it waits. */
  deadline_ms: { type: ParameterType.FLOAT, default: null },
  /** Called when the stimulus is on the screen. */
  on_shown: { type: ParameterType.FUNCTION, default: () => {} },
  /** Called with the trial's data as soon as it is answered. What it resolves to, if not null, is shown as feedback, with its `note` below. */
  on_response: { type: ParameterType.FUNCTION, default: () => Promise.resolve(null) },
  /** The label of the button that ends the feedback. */
  continue_label: { type: ParameterType.STRING, default: say("continue") },
} as const;

/** Beside `response`, whose type is each plugin's own; it is null where there was no answer in time. */
export const trialData = {
  /** "deadline" if it passed without an answer, else null. */
  missing: { type: ParameterType.STRING },
  /** What the answer was made with: "key", "mouse", "touch" or "pen"; null if the browser does not tell. */
  input: { type: ParameterType.STRING },
  /** Response time in ms, from stimulus onset to the input event's own time stamp; null if there was no answer. */
  rt_ms: { type: ParameterType.FLOAT },
  /** For how long the fixation was really shown, in ms, from frame stamp to frame stamp. */
  fixation_ms: { type: ParameterType.FLOAT },
  /** For how many frames of the display the fixation was shown. */
  fixation_frames: { type: ParameterType.INT },
  /** For how many frames it should have been shown. */
  fixation_frames_intended: { type: ParameterType.INT },
  /** The display's frame interval in ms. */
  frame_ms: { type: ParameterType.FLOAT },
  /** How many frames the browser missed while the fixation was shown. */
  frames_dropped: { type: ParameterType.INT },
  /** Stimulus onset, UTC, ISO 8601 with ms. */
  shown_at: { type: ParameterType.STRING },
  /** `presented`: the onset is the browser's stamp of the frame on the screen; `painted`: the moment after painting it. */
  onset_source: { type: ParameterType.STRING },
  /** How often the page lost focus or was hidden between the trial's begin and the answer. */
  focus_lost: { type: ParameterType.INT },
  /**
   * What happened beside the answer between the trial's begin and the answer, only what did happen; null if nothing did.
   * Times that: the page was `hidden`, the full screen was left (`fullscreen_left`), something was `pasted` or `copied`,
   * the window was `resized`, an answer came before the stimulus could be seen or within the time for reading
   * (`too_early`), an input event was not made by a device (`untrusted`). `away_ms`: how long the page was hidden or
   * without focus, in ms.
   */
  signals: { type: ParameterType.OBJECT },
} as const;

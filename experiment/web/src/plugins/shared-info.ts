/** Parameters and data that our trial plugins have in common, in jsPsych's form. */
import { ParameterType } from "jspsych";
import { say } from "../texts";

export const trialParameters = {
  /** For how long the fixation cross is shown, in ms; rounded to whole frames of the display. */
  fixation_ms: { type: ParameterType.FLOAT, default: 200 },
  /** The display's frame interval, in ms, as `measureFrameInterval_ms` found it. */
  frame_ms: { type: ParameterType.FLOAT, default: 1000 / 60 },
  /** Called with the trial's data as soon as it is answered. What it resolves to, if not null, is shown as feedback. */
  on_response: { type: ParameterType.FUNCTION, default: () => Promise.resolve(null) },
  /** A remark below the feedback. */
  feedback_note: { type: ParameterType.STRING, default: "" },
  /** The label of the button that ends the feedback. */
  continue_label: { type: ParameterType.STRING, default: say("continue") },
} as const;

export const trialTimingData = {
  /** Response time in ms, from stimulus onset to the input event's own time stamp. */
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
} as const;

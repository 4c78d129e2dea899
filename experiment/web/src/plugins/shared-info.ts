/** Parameters and data that our trial plugins share, in jsPsych's form. */
import { ParameterType } from "jspsych";
import { say } from "../pages/texts";

/** Parameters of all plugins with a stimulus. */
export const stimulusParameters = {
  /** The screens before the question: {parts, duration_ms}. `parts` are as in `stimulus`. `duration_ms` is rounded to whole
   * frames; if it is null, the participant ends the screen.
   */
  screens: { type: ParameterType.COMPLEX, array: true, default: [] },
  /** The parts above the question: {kind: "text", html}, {kind: "image", src, alt, width_px, height_px}, {kind:
   * "sound", src, alt} or {kind: "video", src, alt}.
   */
  stimulus: { type: ParameterType.COMPLEX, array: true, default: [] },
} as const;

/** Parameters of all plugins with a prompt. */
export const questionParameters = {
  ...stimulusParameters,
  /** The text above the question. Blank lines separate paragraphs. May be empty. */
  text: { type: ParameterType.STRING, default: "" },
  /** The question. */
  prompt: { type: ParameterType.STRING, default: undefined },
} as const;

export const trialParameters = {
  /** Duration of the blank screen before the fixation, in ms; rounded to whole frames of the display. 0 for none. */
  intertrial_ms: { type: ParameterType.FLOAT, default: 0 },
  /** Duration of the fixation cross, in ms; rounded to whole frames of the display. */
  fixation_ms: { type: ParameterType.FLOAT, default: 200 },
  /** The display's frame interval, in ms, from `measureFrameInterval_ms`. */
  frame_ms: { type: ParameterType.FLOAT, default: 1000 / 60 },
  /** Time after onset during which no response is accepted, in ms. */
  reading_ms: { type: ParameterType.FLOAT, default: 0 },
  /** Time after onset at which the trial ends without a response, in ms; null for no limit. */
  deadline_ms: { type: ParameterType.FLOAT, default: null },
  /** The question about confidence after each response: {prompt, low, high, step, labels, shown_as}, as in the plugin
   * `rating`. Null if it is not asked.
   */
  confidence: { type: ParameterType.OBJECT, default: null },
  /** Called when the first screen or the stimulus is on the screen. */
  on_shown: { type: ParameterType.FUNCTION, default: () => {} },
  /** Called with the trial's data as soon as there is a response. A result that is not null is shown as feedback, with
   * `note` below the feedback.
   */
  on_response: { type: ParameterType.FUNCTION, default: () => Promise.resolve(null) },
  /** Time after which the feedback closes by itself, in ms; null if the participant continues with a button. */
  feedback_ms: { type: ParameterType.FLOAT, default: null },
  /** The label of the button that ends the feedback. */
  continue_label: { type: ParameterType.STRING, default: say("continue") },
} as const;

/** Data of a trial in addition to `response`. Each plugin defines the type of `response`. Without a response before the
 * deadline, `response` is null.
 */
export const trialData = {
  /** "deadline" if the deadline passed without a response, otherwise null. */
  missing: { type: ParameterType.STRING },
  /** Input device: "key", "mouse", "touch" or "pen"; null if the browser does not report it. */
  input: { type: ParameterType.STRING },
  /** Response time in ms, from stimulus onset to the time stamp of the input event; null without a response. */
  rt_ms: { type: ParameterType.FLOAT },
  /** Actual duration of the fixation, in ms, between the time stamps of two frames. */
  fixation_ms: { type: ParameterType.FLOAT },
  /** Actual duration of the fixation, in frames. */
  fixation_frames: { type: ParameterType.INT },
  /** Intended duration of the fixation, in frames. */
  fixation_frames_intended: { type: ParameterType.INT },
  /** The display's frame interval in ms. */
  frame_ms: { type: ParameterType.FLOAT },
  /** Number of frames missed during the fixation. */
  frames_dropped: { type: ParameterType.INT },
  /** Stimulus onset, UTC, ISO 8601 with ms. */
  shown_at: { type: ParameterType.STRING },
  /** `presented`: the onset is the browser's time stamp of the frame on the screen. `painted`: the onset is the time just
   * after painting the frame.
   */
  onset_source: { type: ParameterType.STRING },
  /** Number of times the page lost focus or was hidden between the beginning of the trial and the response. */
  focus_lost: { type: ParameterType.INT },
  /** Other events between the beginning of the trial and the response. Contains only events that occurred; null if no
   * such event occurred. `hidden`: times that the page was hidden. `fullscreen_left`: times that the participant left the
   * full screen. `pasted` and `copied`: numbers of pastes and copies. `resized`: changes of the window's size. `too_early`:
   * responses before the stimulus was visible or during the reading time. `untrusted`: input events that a program made.
   * `translated`: 1 if the browser or an extension had translated the page.
   * `rules_opened`: times that the participant opened the rules. `rules_ms`: time for which the rules were open, in ms.
   * `away_ms`: time for which the page was hidden or without focus, in ms.
   */
  signals: { type: ParameterType.OBJECT },
  /** The actual timing of the interval, screens, parts and sounds: {intertrial, screens, stimulus, mask, sounds}. Each of the first four has
   * `duration_ms`, `frames` and `frames_intended`. Each sound has `part` (its position among the parts of the stimulus),
   * `onset_ms` (time from stimulus onset until the sound reached the output; null if it never played) and `latency_ms` (the
   * delay of the output that the browser reports). Null if the trial has none.
   */
  presentation: { type: ParameterType.OBJECT },
  /** The confidence in the response; null if it was not asked. */
  confidence: { type: ParameterType.FLOAT },
  /** Time from the question about confidence to its answer, in ms. */
  confidence_rt_ms: { type: ParameterType.FLOAT },
} as const;

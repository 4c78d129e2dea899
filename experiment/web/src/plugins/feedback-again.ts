import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { feedbackPanel, showFeedback, type Stimulus, type TrialFeedback } from "../run-trial";
import type { ResponseValue } from "../saving/server-api";
import { say } from "../pages/texts";

const info = {
  name: "feedback-again",
  version: "1.0.0",
  parameters: {
    /** Makes the stimulus of the practice trial, with the element that receives keys. */
    stimulus: { type: ParameterType.FUNCTION, default: undefined },
    /** The participant's response; null if the time passed without one. */
    response: { type: ParameterType.COMPLEX, default: undefined },
    /** The feedback on the response. */
    feedback: { type: ParameterType.COMPLEX, default: undefined },
    /** Time after which the feedback closes by itself; null if the participant continues. */
    feedback_ms: { type: ParameterType.FLOAT, default: null },
    /** The display's frame interval. */
    frame_ms: { type: ParameterType.FLOAT, default: 1000 / 60 },
  },
  data: {},
} as const;

type Info = typeof info;
type Trial = TrialType<Info> & {
  stimulus: (keyboard: HTMLElement) => Stimulus<ResponseValue>;
  response: ResponseValue | null;
  feedback: TrialFeedback;
};

/** Shows a practice trial with its response and its feedback again, after a reload. It accepts no response. */
export default class FeedbackAgainPlugin implements JsPsychPlugin<Info> {
  static info = info;

  constructor(private jsPsych: JsPsych) {}

  async trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<object> {
    const stimulus = trial.stimulus(this.jsPsych.getDisplayContainerElement());
    if (trial.response !== null) stimulus.showResponse(trial.response);
    display.replaceChildren(stimulus.element);
    window.scrollTo(0, 0);
    on_load();
    await showFeedback(stimulus, feedbackPanel(), trial.feedback, {
      continue_label: say("continue"),
      feedback_ms: trial.feedback_ms ?? null,
      frame_ms: trial.frame_ms ?? 1000 / 60,
    });
    return {};
  }
}

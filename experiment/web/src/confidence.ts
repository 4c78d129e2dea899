/** The question about confidence: a rating in place of the question, after its response. */
import type { JsPsych } from "jspsych";
import { points, ratingScale } from "./plugins/rating-scale";
import type { SimulatedParticipant } from "./run-trial";
import type { ConfidenceQuestion, GivenConfidence } from "./saving/server-api";
import { keepFramesComing, nextFrame } from "./timing/fixation";
import { askForOnset, watchOnset } from "./timing/onset";
import { ResponseWindow } from "./timing/response-window";

/** Replaces what is on the screen by the question. The answer that was given before cannot change any more. */
export async function askConfidence(
  display: HTMLElement,
  keyboard: HTMLElement,
  question: ConfidenceQuestion,
  frame_ms: number,
  simulated?: Pick<SimulatedParticipant, "rateConfidence">,
): Promise<GivenConfidence> {
  const scale = ratingScale({ ...question, text: "", reading_ms: 0, deadline_ms: null }, keyboard);
  scale.element.classList.add("confidence");
  const responseWindow = new ResponseWindow(() => {});
  const responded = scale.responded(responseWindow);
  askForOnset(scale.element);
  const stamp_ms = await nextFrame();
  display.replaceChildren(scale.element);
  window.scrollTo(0, 0);
  const onset = watchOnset(scale.element, stamp_ms);
  void responseWindow.open(stamp_ms + frame_ms);
  void keepFramesComing(scale.element).then(() => responseWindow.close());
  setTimeout(() => scale.element.focus({ preventScroll: true }));
  simulated?.rateConfidence(question);

  const { response, event } = await responded;
  responseWindow.close();
  const { onset_ms } = await onset();
  return { confidence: response, confidence_rt_ms: Math.max(0, event.timeStamp - onset_ms) };
}

/** Returns the answer of a simulated participant. */
export function simulatedConfidence({ randomization }: JsPsych, question: ConfidenceQuestion): GivenConfidence {
  const [confidence] = randomization.sampleWithoutReplacement(points(question), 1);
  return { confidence: confidence!, confidence_rt_ms: randomization.sampleExGaussian(500, 50, 1 / 150, true) };
}

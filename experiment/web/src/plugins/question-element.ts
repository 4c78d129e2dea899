/** The parts that the stimuli of all question tasks share: stimulus, prompt, time hints, answer, hint. */
import { stimulusParts, type StimulusParts } from "../assets/stimulus-parts";
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { QuestionContent } from "../saving/server-api";
import { type TimeBounds, timeHints } from "../timing/time-hints";

/** A question on the screen, with its pictures and sounds. */
export interface QuestionElement {
  element: HTMLElement;
  media: StimulusParts;
}

/** Builds the stimulus of a question. `task` is its class, and `answer` the elements with which participants answer. */
export function questionElement(content: QuestionContent & TimeBounds, task: string, hint: string, ...answer: HTMLElement[]): QuestionElement {
  const hints = timeHints(content);
  const media = stimulusParts(content.stimulus ?? []);
  const element = html(
    "div",
    {
      id: "stimulus",
      class: `question-trial ${task}${content.stimulus_beside ? " beside" : ""}`,
      translate: "no",
      role: "group",
      tabindex: -1,
      // Screen readers read this short name when the question gets the focus. The text follows as paragraphs to walk through.
      "aria-labelledby": document.getElementById("position") ? "position" : "prompt",
      "aria-describedby": hints[0]?.id ?? false,
    },
    ...(media.elements.length > 0 ? [html("div", { class: "stimulus-parts" }, ...media.elements)] : []),
    html("div", { id: "text" }, ...paragraphs(content.text).map((paragraph) => html("p", {}, paragraph))),
    html("h1", { id: "prompt" }, content.prompt),
    ...hints,
    ...answer,
    html("p", { id: "answer-hint", class: "hint", lang: TEXTS_LANGUAGE }, hint),
  );
  return { element, media };
}

/** Builds the line with the right answer. `before` is at the start of the line. */
export function rightAnswer(answer: string, before: (string | Node)[] = []): HTMLElement {
  // The answer has its own text direction. Otherwise the minus sign of -3 is at the right of the number in an Arabic study.
  const own = html("bdi", { translate: "no" }, answer);
  return html("p", { class: "option-mark", lang: TEXTS_LANGUAGE }, ...before, `✓ ${say("right_answer")}: `, own);
}

export function paragraphs(text: string): string[] {
  return text.split(/\n\s*\n/).filter((paragraph) => paragraph.trim() !== "");
}

export function submitButton(): HTMLButtonElement {
  const attributes = { id: "submit-response", class: "primary", type: "button", disabled: true, lang: TEXTS_LANGUAGE };
  return html("button", attributes, say("submit_answer"));
}

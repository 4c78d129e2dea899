/** The scales of ratings: a button for each point, or a line. The task `rating` and the question about confidence use them. */
import type { JsPsych } from "jspsych";
import { html } from "../pages/dom";
import { say, sayAround, TEXTS_LANGUAGE } from "../pages/texts";
import type { GivenResponse, Stimulus } from "../run-trial";
import type { RatingContent, Scale } from "../saving/server-api";
import type { StimulusParts } from "../assets/stimulus-parts";
import { usesTouch } from "../timing/input-hints";
import { digitOf } from "../timing/response-keys";
import type { ResponseWindow } from "../timing/response-window";
import type { TimeBounds } from "../timing/time-hints";
import { questionElement, rightAnswer, submitButton } from "./question-element";

export function ratingScale(content: RatingContent & TimeBounds, keyboard: HTMLElement): Stimulus<number> {
  return content.shown_as === "buttons" ? new RatingButtons(content, keyboard) : new RatingSlider(content);
}

/** Gives a rating on the screen at `rt_ms` after the onset, as a participant does. */
export function giveRating({ pluginAPI: api }: JsPsych, { shown_as }: Scale, response: number, rt_ms: number, reading_ms: number): void {
  if (shown_as === "buttons") return api.clickTarget(document.querySelector(`[data-point="${response}"]`)!, rt_ms);
  const slider = document.querySelector<HTMLInputElement>("#rating-slider")!;
  setTimeout(
    () => {
      slider.value = String(response);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    },
    (reading_ms + rt_ms) / 2,
  );
  api.clickTarget(document.querySelector("#submit-response")!, rt_ms);
}

/** Returns the points of a scale in order, without errors of rounding such as 0.30000000000000004. */
export function points({ low, high, step }: Scale): number[] {
  const count = Math.round((high - low) / step) + 1;
  return Array.from({ length: count }, (_, index) => Number((low + index * step).toPrecision(12)));
}

/** Scale with a button for each point. A click, a tap or the number key of a point gives the response at once. */
class RatingButtons implements Stimulus<number> {
  readonly element: HTMLElement;
  readonly media: StimulusParts;
  readonly controls: HTMLButtonElement[];
  private points: number[];
  private chosen: number | null = null;

  constructor(
    content: RatingContent & TimeBounds,
    private keyboard: HTMLElement,
  ) {
    this.points = points(content);
    const words = wordsOfPoints(content.labels, this.points.length);
    this.controls = this.points.map((point, index) =>
      html(
        "button",
        { type: "button", class: "rating-point", "data-point": point },
        html("span", { class: "rating-number" }, String(point)),
        ...(words[index] ? [html("span", { class: "rating-words" }, words[index])] : []),
      ),
    );
    const hint = say(usesTouch() ? "multiple_choice_help_touch" : this.hasKeys() ? "multiple_choice_help" : "rating_help");
    const scale = html("ol", { class: "rating-points" }, ...this.controls.map((button) => html("li", {}, button)));
    const hasEnds = content.labels.length === 2 && this.points.length > 2;
    if (hasEnds) scale.classList.add("with-ends");
    const ends = hasEnds ? [html("p", { class: "rating-ends", "aria-hidden": "true" }, ...spans(content.labels))] : [];
    ({ element: this.element, media: this.media } = questionElement(content, "rating", hint, scale, ...ends));
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<number>> {
    return new Promise((resolve) => {
      const respond = (event: Event, point: number) => {
        if (!responseWindow.takes(event)) return;
        this.chosen = point;
        resolve({ response: point, event });
      };
      const onKey = (event: KeyboardEvent) => {
        const digit = digitOf(event);
        if (digit !== null && this.points.includes(digit)) respond(event, digit);
      };
      if (this.hasKeys()) this.keyboard.addEventListener("keydown", onKey, { signal: responseWindow.closed });
      this.controls.forEach((button, index) => button.addEventListener("click", (event) => respond(event, this.points[index]!)));
    });
  }

  close(): void {
    this.element.classList.add("closed");
    for (const button of this.controls) button.disabled = true;
  }

  showResponse(response: number): void {
    this.chosen = response;
  }

  showSolution(solution: unknown): void {
    const right = solution as number;
    const mark = (point: number, name: string, words: string) => {
      const button = this.controls[this.points.indexOf(point)]!;
      button.classList.add(name);
      button.append(html("span", { class: "option-mark", lang: TEXTS_LANGUAGE }, words));
    };
    mark(right, "right", `✓ ${say("right_answer")}`);
    if (this.chosen !== null && this.chosen !== right) mark(this.chosen, "wrong", `✗ ${say("your_answer")}`);
  }

  /** True if every point has a key of its own: whole numbers from 0 to 9. */
  private hasKeys(): boolean {
    return this.points.every((point) => Number.isInteger(point) && point >= 0 && point <= 9);
  }
}

/** Scale as a line. It has no mark before the participant sets one, so that no answer is suggested. */
class RatingSlider implements Stimulus<number> {
  readonly element: HTMLElement;
  readonly media: StimulusParts;
  readonly controls: Element[];
  private slider: HTMLInputElement;
  private submit = submitButton();
  private isSet = false;

  constructor(content: RatingContent & TimeBounds) {
    const { low, high, step, labels } = content;
    const middle = points(content)[Math.floor((points(content).length - 1) / 2)]!;
    this.slider = html("input", {
      id: "rating-slider",
      class: "unset",
      type: "range",
      min: low,
      max: high,
      step,
      value: middle,
      "aria-labelledby": "prompt",
      "aria-describedby": "rating-ends",
      "aria-valuetext": say("rating_unset"),
    });
    const ends = html("p", { id: "rating-ends", class: "rating-ends" }, ...spans(wordsBelow(labels, low, high)));
    this.controls = [this.slider, this.submit];
    ({ element: this.element, media: this.media } = questionElement(content, "rating", say(usesTouch() ? "rating_slider_help_touch" : "rating_slider_help"), html("div", { class: "rating-line" }, this.slider, ends), this.submit));
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<number>> {
    const signal = responseWindow.closed;
    const set = (event: Event) => {
      if (!responseWindow.takes(event)) return this.showMark();
      this.isSet = true;
      this.showMark();
    };
    this.slider.addEventListener("input", set, { signal });
    // A click on the point where the hidden mark is changes no value, but sets the mark.
    this.slider.addEventListener("click", set, { signal });
    // A tap on this point makes no click in Chromium.
    this.slider.addEventListener("pointerup", (event) => event.pointerType === "touch" && set(event), { signal });
    return new Promise((resolve) => {
      const submit = (event: Event) => {
        if (this.isSet && responseWindow.takes(event)) resolve({ response: Number(this.slider.value), event });
      };
      this.submit.addEventListener("click", submit, { signal });
      const onKey = (event: KeyboardEvent) => {
        if (event.key === "Enter") submit(event);
      };
      this.slider.addEventListener("keydown", onKey, { signal });
    });
  }

  close(): void {
    this.element.classList.add("closed");
    this.slider.disabled = this.submit.disabled = true;
  }

  showResponse(response: number): void {
    this.slider.value = String(response);
    this.isSet = true;
    this.showMark();
  }

  showSolution(solution: unknown): void {
    const [answer, right] = [String(this.slider.value), String(solution)];
    const given = this.isSet ? [...sayAround("your_answer_is", "answer", html("bdi", {}, answer)), " · "] : [];
    this.element.querySelector(".rating-line")!.append(rightAnswer(right, given));
  }

  private showMark(): void {
    if (!this.isSet) return;
    this.slider.classList.remove("unset");
    this.slider.removeAttribute("aria-valuetext");
    this.submit.disabled = false;
  }
}

/** Returns the words for each point: all of them, or only those of the two ends. */
function wordsOfPoints(labels: readonly string[], count: number): string[] {
  if (labels.length === count) return [...labels];
  return Array.from({ length: count }, (_, index) => (index === 0 ? labels[0] : index === count - 1 ? labels[1] : "") ?? "");
}

function spans(words: readonly string[]): HTMLElement[] {
  return words.map((word) => html("span", {}, word));
}

/** Returns the words below a line, from its beginning to its end. */
function wordsBelow(labels: readonly string[], low: number, high: number): string[] {
  return labels.length > 0 ? [...labels] : [String(low), String(high)];
}

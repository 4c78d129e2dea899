/** The stimulus of tasks with a typed answer: a field, a button that submits it, and a sentence about a wrong entry. */
import { html } from "../pages/dom";
import { TEXTS_LANGUAGE } from "../pages/texts";
import type { GivenResponse, Stimulus } from "../run-trial";
import type { QuestionContent } from "../saving/server-api";
import type { StimulusParts } from "../assets/stimulus-parts";
import type { ResponseWindow } from "../timing/response-window";
import type { TimeBounds } from "../timing/time-hints";
import { questionElement, rightAnswer, submitButton } from "./question-element";

/** Attributes of the field of every typed answer. */
export const shared = {
  id: "typed-answer",
  class: "typed-answer",
  autocomplete: "off",
  autocapitalize: "off",
  spellcheck: "false",
  "aria-labelledby": "prompt",
  "aria-describedby": "answer-hint typed-problem",
} as const;

interface Typed<R> {
  /** Name of the task, as the class of its element. */
  task: string;
  input: HTMLInputElement | HTMLTextAreaElement;
  /** The input, or the element with the input and its unit. */
  field: HTMLElement;
  /** Returns the response that a typed text gives, or null if the text is not a possible response. */
  read: (text: string) => R | null;
  hint: string;
  /** The sentence that is shown if the text is not a possible response. */
  problem: string;
  submitsOnEnter: boolean;
}

export class TypedAnswer<R extends number | string> implements Stimulus<R> {
  readonly element: HTMLElement;
  readonly media: StimulusParts;
  readonly controls: Element[];
  private problem = html("p", { id: "typed-problem", class: "problem", role: "alert", lang: TEXTS_LANGUAGE });
  private submit = submitButton();

  constructor(
    content: QuestionContent & TimeBounds,
    private keyboard: HTMLElement,
    private typed: Typed<R>,
  ) {
    this.submit.disabled = false; // a click without an answer says what is missing
    this.controls = [typed.input, this.submit];
    ({ element: this.element, media: this.media } = questionElement(content, typed.task, typed.hint, typed.field, this.problem, this.submit));
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<R>> {
    const { input, read, problem, submitsOnEnter } = this.typed;
    const signal = responseWindow.closed;
    return new Promise((resolve) => {
      const submit = (event: Event) => {
        if (!responseWindow.takes(event)) return;
        const response = read(input.value);
        if (response !== null) return resolve({ response, event });
        input.setAttribute("aria-invalid", "true");
        this.problem.textContent = problem;
        input.focus();
      };
      const onKey = (event: KeyboardEvent) => {
        // While a word is being composed, as in Japanese, Enter ends the word.
        if (event.key !== "Enter" || event.isComposing || !submitsOnEnter) return;
        event.preventDefault();
        submit(event);
      };
      const onInput = () => {
        input.removeAttribute("aria-invalid");
        this.problem.textContent = "";
      };
      // The participant can type at once: the first character brings the focus into the field.
      const onFirstCharacter = (event: KeyboardEvent) => {
        if (event.key.length === 1 && !(event.target as Element).closest("input, textarea, button")) input.focus();
      };
      this.keyboard.addEventListener("keydown", onFirstCharacter, { signal });
      this.submit.addEventListener("click", submit, { signal });
      (input as HTMLElement).addEventListener("keydown", onKey, { signal });
      input.addEventListener("input", onInput, { signal });
    });
  }

  close(): void {
    this.element.classList.add("closed");
    this.typed.input.disabled = this.submit.disabled = true;
  }

  showResponse(response: R): void {
    this.typed.input.value = String(response);
  }

  showSolution(solution: unknown): void {
    this.problem.before(rightAnswer(String(solution)));
  }
}

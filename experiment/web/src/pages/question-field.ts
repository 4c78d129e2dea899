/** Form fields for the questions about the participant. A field shows what is wrong with an invalid answer. */
import type { Question } from "../saving/server-api";
import { html } from "./dom";
import { say, TEXTS_LANGUAGE } from "./texts";

/** Length of the longest text that the server accepts, in characters. */
const LONGEST_TEXT = 500;

/** Largest number of options shown as radio buttons. A question with more options gets a drop-down list. */
const MOST_IN_SIGHT = 7;

type PersonAnswer = number | string | null;

export interface QuestionField {
  element: HTMLElement;
  /** Returns the answer, or null if the participant gave no answer. */
  read(): PersonAnswer;
  /** Returns true if the answer is valid. If the answer is not valid, the field shows why. */
  check(): boolean;
  /** Fills in an answer, for simulations. */
  fill(answer: PersonAnswer): void;
}

export function questionField(question: Question): QuestionField {
  if (question.answer === "number") return numberField(question);
  if (question.answer === "text") return textField(question);
  return question.options.length <= MOST_IN_SIGHT ? radioButtons(question) : list(question);
}

function numberField({ name, ask, low, high }: Question): QuestionField {
  const id = idOf(name);
  const input = textInput({
    id,
    name,
    class: "number",
    "aria-describedby": `${id}-problem`,
    inputmode: low < 0 ? "text" : "numeric", // the number keyboard of a phone has no minus sign
  });
  const problem = html("p", { id: `${id}-problem`, class: "problem", lang: TEXTS_LANGUAGE });
  const read = () => (input.value.trim() === "" ? null : wholeNumber(input.value.trim()));
  return {
    element: html("div", { class: "question" }, html("label", { for: id }, ask), input, problem),
    read,
    check: () => {
      const number = read();
      const fits = number === null || (number >= low && number <= high);
      input.setAttribute("aria-invalid", String(!fits));
      problem.textContent = fits ? "" : say("question_number", { low, high });
      return fits;
    },
    fill: (answer) => (input.value = String(answer ?? "")),
  };
}

/** Parses a whole number in European, Arabic or Persian digits. Returns NaN for anything else. */
function wholeNumber(text: string): number {
  const digits = text.replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 0xf));
  return /^[+-]?\d+$/.test(digits) ? Number(digits) : NaN;
}

function textField({ name, ask }: Question): QuestionField {
  const input = textInput({ id: idOf(name), name, maxlength: LONGEST_TEXT });
  return {
    element: html("div", { class: "question" }, html("label", { for: input.id }, ask), input),
    read: () => input.value.trim() || null,
    check: () => true,
    fill: (answer) => (input.value = String(answer ?? "")),
  };
}

function radioButtons({ name, ask, options }: Question): QuestionField {
  const inputs = [...options, ""].map((value) => html("input", { type: "radio", name, value }));
  const labels = inputs.map((input) =>
    input.value === ""
      ? html("label", { lang: TEXTS_LANGUAGE }, input, html("span", {}, say("question_not_said")))
      : html("label", {}, input, html("span", {}, input.value)),
  );
  return {
    element: html("fieldset", { class: "question" }, html("legend", {}, ask), ...labels),
    read: () => inputs.find(({ checked }) => checked)?.value || null,
    check: () => true,
    fill: (answer) => inputs.forEach((input) => (input.checked = input.value === (answer ?? ""))),
  };
}

function list({ name, ask, options }: Question): QuestionField {
  const items = ["", ...options].map((value) => html("option", { value }, value));
  const select = html("select", { id: idOf(name), name }, ...items);
  return {
    element: html("div", { class: "question" }, html("label", { for: select.id }, ask), select),
    read: () => select.value || null,
    check: () => true,
    fill: (answer) => (select.value = String(answer ?? "")),
  };
}

function textInput(attributes: Record<string, string | number>): HTMLInputElement {
  return html("input", { type: "text", autocomplete: "off", dir: "auto", ...attributes });
}

function idOf(name: string): string {
  return `question-${name}`;
}

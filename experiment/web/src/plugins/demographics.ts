import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import type { PersonAnswers, Question } from "../saving/server-api";
import { html, nameByHeading } from "../pages/dom";
import { illustration } from "../pages/illustrations";
import { type QuestionField, questionField } from "../pages/question-field";
import { say, TEXTS_LANGUAGE } from "../pages/texts";

const info = {
  name: "demographics",
  version: "1.0.0",
  parameters: {
    /** The questions, in order. The participant may skip each question. */
    questions: {
      type: ParameterType.COMPLEX,
      array: true,
      default: undefined,
      nested: {
        /** Name of the recorded answer. */
        name: { type: ParameterType.STRING, default: undefined },
        /** The question, as the participant reads it. */
        ask: { type: ParameterType.STRING, default: undefined },
        /** Kind of answer: a whole number, one of `options`, or a line of text. */
        answer: { type: ParameterType.SELECT, options: ["number", "choice", "text"], default: undefined },
        /** The options of a choice. */
        options: { type: ParameterType.STRING, array: true, default: [] },
        /** Lowest valid number. */
        low: { type: ParameterType.INT, default: 0 },
        /** Highest valid number. */
        high: { type: ParameterType.INT, default: 1_000_000 },
      },
    },
    /** Title above the questions. */
    title: { type: ParameterType.STRING, default: say("questions_title") },
    /** Remark below the title. */
    remark: { type: ParameterType.STRING, default: say("questions_optional") },
    /** The label of the button that ends the questions. */
    button_label: { type: ParameterType.STRING, default: say("continue") },
  },
  data: {
    /** The answers, by the names of the questions: a whole number, an option or a text; null for a skipped question. */
    answers: { type: ParameterType.OBJECT },
    /** Time that the participant spent on the page, in ms. */
    duration_ms: { type: ParameterType.FLOAT },
  },
} as const;

type Info = typeof info;
/** jsPsych fills in the defaults before it calls the plugin. The type `TrialType` does not include the defaults. */
type Trial = TrialType<Info> & { questions: Question[]; title: string; remark: string; button_label: string };

export interface DemographicsData {
  answers: PersonAnswers;
  duration_ms: number;
}

/** Questions about the participant on one page. The participant may skip each question. */
export default class DemographicsPlugin implements JsPsychPlugin<Info> {
  static info = info;

  constructor(private jsPsych: JsPsych) {}

  trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<DemographicsData> {
    return this.ask(display, trial, trial.questions.map(questionField), on_load);
  }

  async simulate(
    trial: Trial,
    simulation_mode: "data-only" | "visual",
    simulation_options: { data?: Partial<DemographicsData> },
    on_load: () => void = () => {},
  ): Promise<DemographicsData> {
    const data: DemographicsData = this.jsPsych.pluginAPI.mergeSimulationData(
      {
        answers: Object.fromEntries(trial.questions.map((question) => [question.name, this.plausible(question)])),
        duration_ms: this.jsPsych.randomization.sampleExGaussian(500, 50, 1 / 150, true),
      },
      simulation_options,
    );
    if (simulation_mode === "data-only") {
      on_load();
      return data;
    }
    const display = this.jsPsych.getDisplayElement();
    const fields = trial.questions.map(questionField);
    const answered = this.ask(display, trial, fields, on_load);
    fields.forEach((field, index) => field.fill(data.answers[trial.questions[index]!.name] ?? null));
    this.jsPsych.pluginAPI.clickTarget(display.querySelector("#demographics-done")!, data.duration_ms);
    return answered;
  }

  private ask(display: HTMLElement, trial: Trial, fields: QuestionField[], on_load: () => void): Promise<DemographicsData> {
    const start_ms = performance.now();
    const form = html(
      "form",
      { class: "page", tabindex: -1, novalidate: true },
      illustration("person"),
      html("div", { lang: TEXTS_LANGUAGE }, html("h1", {}, trial.title), html("p", {}, trial.remark)),
      ...fields.map(({ element }) => element),
      html(
        "div",
        { class: "buttons", lang: TEXTS_LANGUAGE },
        html("button", { id: "demographics-done", type: "submit", class: "primary" }, trial.button_label),
      ),
    );
    nameByHeading(form);
    display.replaceChildren(form);
    window.scrollTo(0, 0);
    form.focus({ preventScroll: true });
    on_load();

    return new Promise((resolve) => {
      form.addEventListener("submit", (event) => {
        event.preventDefault(); // the browser would load a new page
        const [mistake] = fields.filter((field) => !field.check());
        if (mistake) return mistake.element.querySelector("input")!.focus();
        const answers = Object.fromEntries(fields.map((field, index) => [trial.questions[index]!.name, field.read()]));
        resolve({ answers, duration_ms: performance.now() - start_ms });
      });
    });
  }

  /** Returns a random answer. Skips some questions, as people do. */
  private plausible({ answer, options, low, high }: Question): number | string | null {
    const { randomInt, randomWords, sampleBernoulli, sampleWithoutReplacement } = this.jsPsych.randomization;
    if (sampleBernoulli(0.1) === 1) return null;
    if (answer === "number") return randomInt(low, Math.min(high, low + 99));
    return answer === "choice" ? sampleWithoutReplacement(options, 1)[0]! : randomWords({ exactly: 3, join: " " });
  }
}

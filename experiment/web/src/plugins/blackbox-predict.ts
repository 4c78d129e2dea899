import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import type { ResponseWindow } from "../timing/response-window";
import type { BlackboxContent, BlackboxSolution, TrialData } from "../saving/server-api";
import { Board, describeBoard } from "./blackbox-board";
import { portName, rayPath } from "./blackbox-words";
import { html } from "../pages/dom";
import { isPort, type Port, port, portsOf, type Side } from "./blackbox-ports";
import { type Answered, runTrial, type SimulatedParticipant, simulatedData, type Stimulus, type TrialParameters } from "../run-trial";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import { type TimeBounds, timeHints } from "../timing/time-hints";
import { trialData, trialParameters } from "./shared-info";

const info = {
  name: "blackbox-predict",
  version: "1.0.0",
  parameters: {
    /** Rows and columns of the box. */
    size: { type: ParameterType.INT, default: 8 },
    /** Positions of the atoms: [row, column], counted from 1 at the top left. */
    atoms: { type: ParameterType.COMPLEX, array: true, default: undefined },
    /** The entry port of the ray, such as "north-1". */
    entry: { type: ParameterType.STRING, default: undefined },
    ...trialParameters,
  },
  data: {
    /** "absorbed", "reflected", or the port where the ray leaves, such as "west-5". */
    response: { type: ParameterType.STRING },
    ...trialData,
  },
} as const;

type Info = typeof info;
/** jsPsych fills in the defaults before it calls us; `TrialType` alone does not say so. */
type Trial = TrialType<Info> & BlackboxContent & TrialParameters;
type Prediction = "absorbed" | "reflected" | Port;

/** A Black Box with its atoms shown: where does the ray leave? The response is chosen first, then submitted. */
export default class BlackboxPredictPlugin implements JsPsychPlugin<Info> {
  static info = info;

  constructor(private jsPsych: JsPsych) {}

  trial(display: HTMLElement, trial: Trial, on_load: () => void = () => {}): Promise<TrialData<string>> {
    return this.run(display, trial, on_load);
  }

  async simulate(
    trial: Trial,
    simulation_mode: "data-only" | "visual",
    simulation_options: { data?: Partial<TrialData<string>> },
    on_load: () => void = () => {},
  ): Promise<TrialData<string>> {
    const api = this.jsPsych.pluginAPI;
    const { sampleWithoutReplacement } = this.jsPsych.randomization;
    const predictions: Prediction[] = ["absorbed", "reflected", ...portsOf(trial.size)];
    const data: TrialData<string> = api.mergeSimulationData(
      simulatedData(this.jsPsych, trial, sampleWithoutReplacement(predictions, 1)[0]!),
      simulation_options,
    );
    if (simulation_mode === "data-only") {
      on_load();
      await trial.on_response(data);
      return data;
    }
    return this.run(this.jsPsych.getDisplayElement(), trial, on_load, {
      answer: () => {
        if (data.response === null || data.rt_ms === null) return;
        for (const key of keysFor(data.response)) api.pressKey(key, (trial.reading_ms + data.rt_ms) / 2);
        api.pressKey("Enter", data.rt_ms);
      },
      continue: (button) => api.clickTarget(button, data.rt_ms ?? trial.reading_ms),
    });
  }

  private run(display: HTMLElement, trial: Trial, on_load: () => void, simulated?: SimulatedParticipant) {
    const build = () => new BlackboxStimulus(trial, this.jsPsych.getDisplayContainerElement());
    return runTrial(display, build, trial, on_load, simulated);
  }
}

const SIDE_OF_KEY: Record<string, Side> = { n: "north", e: "east", s: "south", w: "west" };

/** All keys of a prediction; no other key counts as a response that came too early. */
const ANSWERING_KEY = /^([aresnw1-9]|enter|arrow(up|right|down|left))$/i;

/** The keys that type a prediction: "w" and "5" for "west-5", "a" for "absorbed". */
function keysFor(prediction: string): string[] {
  return isPort(prediction) ? [prediction[0]!, prediction.split("-")[1]!] : [prediction[0]!];
}

class BlackboxStimulus implements Stimulus<string> {
  readonly element: HTMLElement;
  readonly controls: Element[];
  private board: Board;
  private words: HTMLElement;
  private answerButtons: HTMLButtonElement[];
  private answerText = html("p", { id: "answer-text", role: "status" }, say("blackbox_no_answer"));
  private submitButton = html("button", { id: "submit-answer", class: "primary", type: "button", disabled: true }, say("blackbox_submit"));
  private choice: Prediction | null = null;
  /** A typed side letter whose digit is still missing. */
  private typedSide: Side | null = null;
  private answers!: ResponseWindow;

  constructor(
    private content: BlackboxContent & TimeBounds,
    private keyboard: HTMLElement,
  ) {
    this.board = new Board(content, "prompt", (chosen, event) => this.chooseBy(event, chosen));
    this.answerButtons = [
      this.answerButton("absorbed", say("absorbed"), say("absorbed_hint")),
      this.answerButton("reflected", say("reflected"), say("reflected_hint")),
    ];
    this.controls = [this.board.element, ...this.answerButtons, this.submitButton];
    this.words = describeBoard(content);
    this.words.id = "board-in-words";
    const hints = timeHints(content);
    this.element = html(
      "div",
      {
        id: "stimulus",
        class: "blackbox-predict",
        role: "group",
        tabindex: -1,
        lang: TEXTS_LANGUAGE,
        "aria-labelledby": "prompt",
        "aria-describedby": [this.words, ...hints].map(({ id }) => id).join(" "),
      },
      html("h1", { id: "prompt" }, say("blackbox_question")),
      ...hints,
      this.words,
      this.board.element,
      html(
        "div",
        { class: "answer-panel" },
        html("div", { class: "answer-buttons" }, ...this.answerButtons),
        this.answerText,
        this.submitButton,
        keyboardHelp(content.size),
      ),
    );
  }

  answered(answers: ResponseWindow): Promise<Answered<string>> {
    this.answers = answers;
    return new Promise((resolve) => {
      const submit = (event: Event) => {
        if (this.choice !== null) resolve({ response: this.choice, event });
      };
      const onKey = (event: KeyboardEvent) => {
        if (!ANSWERING_KEY.test(event.key) || !answers.takes(event)) return;
        if (event.key === "Enter") this.onEnter(event, submit);
        else this.onChoiceKey(event);
      };
      this.keyboard.addEventListener("keydown", onKey, { signal: answers.closed });
      this.submitButton.addEventListener("click", (event) => answers.takes(event) && submit(event));
    });
  }

  close(): void {
    this.element.classList.add("answered");
    for (const button of [...this.answerButtons, this.submitButton]) button.disabled = true;
  }

  showSolution(solution: unknown): void {
    const { outcome, path } = solution as BlackboxSolution;
    this.board.showSolution({ outcome, path });
    this.words.append(html("p", { class: "visually-hidden" }, rayPath(path)));
    this.answerButtons.find((button) => button.dataset.answer === outcome)?.classList.add("right");
  }

  private chooseBy(event: Event, choice: Prediction): void {
    if (this.answers.takes(event)) this.choose(choice);
  }

  private choose(choice: Prediction | null): void {
    this.typedSide = null;
    this.choice = choice;
    this.board.choose(choice && isPort(choice) ? choice : null);
    for (const button of this.answerButtons) button.setAttribute("aria-pressed", String(button.dataset.answer === choice));
    if (choice) this.answerText.replaceChildren(html("strong", {}, say("your_answer_is", { answer: this.choiceInWords(choice) })));
    this.submitButton.disabled = choice === null;
  }

  private choiceInWords(choice: Prediction): string {
    if (!isPort(choice)) return say(choice as "absorbed" | "reflected");
    const name = portName(choice);
    return choice === this.content.entry ? say("leaves_at_entry", { port: name }) : name;
  }

  private onEnter(event: KeyboardEvent, submit: (event: Event) => void): void {
    const target = event.target as HTMLElement | SVGElement;
    const answer = target.dataset.answer ?? target.dataset.port;
    // Enter on a response that is not chosen yet chooses it; on any other element Enter keeps its usual effect.
    if (answer && (this.choice === null || (target.dataset.answer && answer !== this.choice))) {
      event.preventDefault();
      this.choose(answer as Prediction);
    } else if (answer || !target.closest("button, summary")) {
      event.preventDefault();
      submit(event);
    }
  }

  private onChoiceKey(event: KeyboardEvent): void {
    const key = event.key.toLowerCase();
    if (key.startsWith("arrow")) {
      event.preventDefault(); // would scroll the page
      this.board.chooseTowards(event);
    } else if (key === "a") this.choose("absorbed");
    else if (key === "r") this.choose("reflected");
    else if (SIDE_OF_KEY[key]) {
      this.choose(null); // so that Enter cannot submit an answer that is being changed
      this.typedSide = SIDE_OF_KEY[key];
      this.answerText.textContent = say("your_answer_is", { answer: `${say(`side_${this.typedSide}`)} …` });
    } else if (this.typedSide && /^[1-9]$/.test(key) && Number(key) <= this.content.size) {
      this.choose(port(this.typedSide, Number(key)));
    }
  }

  private answerButton(answer: "absorbed" | "reflected", label: string, hint: string): HTMLButtonElement {
    const button = html(
      "button",
      { type: "button", class: "answer", "data-answer": answer, "aria-pressed": "false" },
      html("span", { class: "answer-label" }, label),
      html("span", { class: "answer-hint" }, hint),
    );
    button.addEventListener("click", (event) => this.chooseBy(event, answer));
    return button;
  }
}

function keyboardHelp(size: number): HTMLElement {
  const help = [
    [say("keyboard_places_keys", { size }), say("keyboard_places")],
    [say("keyboard_arrows_keys"), say("keyboard_arrows")],
    ["A", say("keyboard_absorbed")],
    ["R", say("keyboard_reflected")],
    ["Enter", say("keyboard_submit")],
  ];
  const rows = help.flatMap(([keys, meaning]) => [html("dt", {}, keys!), html("dd", {}, meaning!)]);
  const open = matchMedia("(hover: hover) and (min-width: 50rem)").matches; // a telephone has no keys and no room
  return html("details", { class: "keyboard-help", open }, html("summary", {}, say("keyboard_title")), html("dl", {}, ...rows));
}

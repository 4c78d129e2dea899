import { type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import type { ResponseWindow } from "../timing/response-window";
import type { BlackboxContent, BlackboxSolution } from "../saving/server-api";
import { Board, describeBoard } from "./blackbox-board";
import { portName, rayPath } from "./blackbox-words";
import { html } from "../pages/dom";
import { isPort, type Port, port, portsOf, type Side } from "./blackbox-ports";
import type { GivenResponse, Stimulus, TrialParameters } from "../run-trial";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import { usesTouch } from "../timing/input-hints";
import { digitOf, letterOf } from "../timing/response-keys";
import { type TimeBounds, timeHints } from "../timing/time-hints";
import { trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

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
/** jsPsych fills in the defaults before it calls the plugin. The type `TrialType` does not include the defaults. */
type Trial = TrialType<Info> & BlackboxContent & TrialParameters;
type Prediction = "absorbed" | "reflected" | Port;

/** A Black Box with visible atoms: where does the ray leave? The participant chooses a response, and then submits it. */
export default class BlackboxPredictPlugin extends TrialPlugin<string, Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial, keyboard: HTMLElement) {
    return new BlackboxStimulus(trial, keyboard);
  }

  protected randomResponse({ size }: Trial) {
    const predictions: Prediction[] = ["absorbed", "reflected", ...portsOf(size)];
    return this.jsPsych.randomization.sampleWithoutReplacement(predictions, 1)[0]!;
  }

  protected giveResponse(response: string, rt_ms: number, { reading_ms }: Trial) {
    const api = this.jsPsych.pluginAPI;
    for (const key of keysFor(response)) api.pressKey(key, (reading_ms + rt_ms) / 2);
    api.pressKey("Enter", rt_ms);
  }
}

const SIDE_OF_KEY: Record<string, Side> = { n: "north", e: "east", s: "south", w: "west" };

/** The keys for a prediction. Only these keys can count as a response that came too early. */
const RESPONSE_KEY = /^([aresnw1-9]|enter|arrow(up|right|down|left))$/;

/** Returns the meaning of a key: a letter, a digit, or the name of another key, in lower case. */
function meaningOf(event: KeyboardEvent): string {
  return letterOf(event) ?? digitOf(event)?.toString() ?? event.key.toLowerCase();
}

/** Returns the keys that type a prediction: "w" and "5" for "west-5", "a" for "absorbed". */
function keysFor(prediction: string): string[] {
  return isPort(prediction) ? [prediction[0]!, prediction.split("-")[1]!] : [prediction[0]!];
}

export class BlackboxStimulus implements Stimulus<string> {
  readonly element: HTMLElement;
  readonly controls: Element[];
  private board: Board;
  private words: HTMLElement;
  private responseButtons: HTMLButtonElement[];
  private responseText = html("p", { id: "response-text", role: "status" }, say("blackbox_no_answer"));
  private submitButton = html("button", { id: "submit-response", class: "primary", type: "button", disabled: true }, say("submit_answer"));
  private choice: Prediction | null = null;
  /** The side whose letter was typed, while the digit of the port is missing. */
  private typedSide: Side | null = null;
  private responseWindow!: ResponseWindow;

  constructor(
    private content: BlackboxContent & TimeBounds,
    private keyboard: HTMLElement,
  ) {
    this.board = new Board(content, "prompt", (chosen, event) => this.chooseBy(event, chosen));
    this.responseButtons = [
      this.responseButton("absorbed", say("absorbed"), say("absorbed_hint")),
      this.responseButton("reflected", say("reflected"), say("reflected_hint")),
    ];
    this.controls = [this.board.element, ...this.responseButtons, this.submitButton];
    this.words = describeBoard(content);
    this.words.id = "board-in-words";
    const hints = timeHints(content);
    this.element = html(
      "div",
      {
        id: "stimulus",
        class: "blackbox-predict",
        translate: "no",
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
        { class: "response-panel" },
        html("div", { class: "response-buttons" }, ...this.responseButtons),
        this.responseText,
        this.submitButton,
        ...(usesTouch() ? [] : [keyboardHelp(content.size)]),
      ),
    );
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<string>> {
    this.responseWindow = responseWindow;
    return new Promise((resolve) => {
      const submit = (event: Event) => {
        if (this.choice !== null) resolve({ response: this.choice, event });
      };
      const onKey = (event: KeyboardEvent) => {
        if (!RESPONSE_KEY.test(meaningOf(event)) || !responseWindow.takes(event)) return;
        if (event.key === "Enter") this.onEnter(event, submit);
        else this.onChoiceKey(event);
      };
      this.keyboard.addEventListener("keydown", onKey, { signal: responseWindow.closed });
      this.submitButton.addEventListener("click", (event) => responseWindow.takes(event) && submit(event));
    });
  }

  close(): void {
    this.element.classList.add("closed");
    for (const button of [...this.responseButtons, this.submitButton]) button.disabled = true;
  }

  showResponse(response: string): void {
    this.choose(response as Prediction);
  }

  showSolution(solution: unknown): void {
    const { outcome, path, encounters = [] } = solution as BlackboxSolution;
    this.board.showSolution({ outcome, path, encounters });
    this.words.append(html("p", { class: "visually-hidden" }, rayPath(path)));
    this.responseButtons.find((button) => button.dataset.response === outcome)?.classList.add("right");
  }

  private chooseBy(event: Event, choice: Prediction): void {
    if (this.responseWindow.takes(event)) this.choose(choice);
  }

  private choose(choice: Prediction | null): void {
    this.typedSide = null;
    this.choice = choice;
    this.board.choose(choice && isPort(choice) ? choice : null);
    for (const button of this.responseButtons) button.setAttribute("aria-pressed", String(button.dataset.response === choice));
    if (choice) this.responseText.replaceChildren(html("strong", {}, say("your_answer_is", { answer: this.choiceInWords(choice) })));
    this.submitButton.disabled = choice === null;
  }

  private choiceInWords(choice: Prediction): string {
    if (!isPort(choice)) return say(choice as "absorbed" | "reflected");
    const name = portName(choice);
    return choice === this.content.entry ? say("leaves_at_entry", { port: name }) : name;
  }

  private onEnter(event: KeyboardEvent, submit: (event: Event) => void): void {
    const target = event.target as HTMLElement | SVGElement;
    const response = target.dataset.response ?? target.dataset.port;
    // Enter on a response chooses the response, or submits a chosen response. On other controls, Enter has the usual effect.
    if (response && (this.choice === null || (target.dataset.response && response !== this.choice))) {
      event.preventDefault();
      this.choose(response as Prediction);
    } else if (response || !target.closest("button, summary")) {
      event.preventDefault();
      submit(event);
    }
  }

  private onChoiceKey(event: KeyboardEvent): void {
    const key = meaningOf(event);
    if (key.startsWith("arrow")) {
      event.preventDefault(); // arrow keys would scroll the page
      this.board.chooseTowards(event);
    } else if (key === "a") this.choose("absorbed");
    else if (key === "r") this.choose("reflected");
    else if (SIDE_OF_KEY[key]) {
      this.choose(null); // prevents Enter from submitting a response that the participant is changing
      this.typedSide = SIDE_OF_KEY[key];
      this.responseText.textContent = say("your_answer_is", { answer: `${say(`side_${this.typedSide}`)} …` });
    } else if (this.typedSide && /^[1-9]$/.test(key) && Number(key) <= this.content.size) {
      this.choose(port(this.typedSide, Number(key)));
    }
  }

  private responseButton(response: "absorbed" | "reflected", label: string, hint: string): HTMLButtonElement {
    const button = html(
      "button",
      { type: "button", class: "response-button", "data-response": response, "aria-pressed": "false" },
      html("span", { class: "response-label" }, label),
      html("span", { class: "response-hint" }, hint),
    );
    button.addEventListener("click", (event) => this.chooseBy(event, response));
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
  const open = matchMedia("(hover: hover) and (min-width: 50rem)").matches; // a phone has no keyboard and little space
  return html("details", { class: "keyboard-help", open }, html("summary", {}, say("keyboard_title")), html("dl", {}, ...rows));
}

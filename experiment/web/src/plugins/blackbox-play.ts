import { type JsPsych, type JsPsychPlugin, ParameterType, type TrialType } from "jspsych";
import { html } from "../pages/dom";
import { say, TEXTS_LANGUAGE } from "../pages/texts";
import type { GivenResponse, Stimulus, TrialParameters } from "../run-trial";
import type { ActionReply, ActionTiming, BlackboxAction, BlackboxObservation, BlackboxPlayContent, BlackboxRay, Move, TrialData } from "../saving/server-api";
import { painted } from "../timing/fixation";
import { inputOf } from "../timing/input-events";
import type { Onset } from "../timing/onset";
import type { ResponseWindow } from "../timing/response-window";
import { type TimeBounds, timeHints } from "../timing/time-hints";
import { PlayBoard } from "./blackbox-play-board";
import { type Cell, isPort, type Port, portsOf } from "./blackbox-ports";
import { portName, portSpoken } from "./blackbox-words";
import { trialData, trialParameters } from "./shared-info";
import { TrialPlugin } from "./trial-plugin";

const info = {
  name: "blackbox-play",
  version: "1.0.0",
  parameters: {
    /** Rows and columns of the box. */
    size: { type: ParameterType.INT, default: 8 },
    /** Number of hidden atoms. */
    n_atoms: { type: ParameterType.INT, default: 4 },
    /** The most rays that the participant can fire. */
    n_rays: { type: ParameterType.INT, default: 20 },
    /** true: the participant can mark cells. */
    allow_marks: { type: ParameterType.BOOL, default: true },
    /** true: after the guess, the atoms and the paths of the rays are shown. */
    show_solution: { type: ParameterType.BOOL, default: false },
    /** The moves before this visit: {action, observation}. */
    moves: { type: ParameterType.COMPLEX, array: true, default: [] },
    /** Receives each action and its timing. Its result is {observation, is_over}. */
    act: { type: ParameterType.FUNCTION, default: undefined },
    /** Receives the error if an action is finally refused, for example because another window has continued the game. */
    on_refusal: { type: ParameterType.FUNCTION, default: undefined },
    ...trialParameters,
  },
  data: {
    /** The number of actions. The server has the actions themselves. */
    response: { type: ParameterType.INT },
    ...trialData,
  },
} as const;

type Info = typeof info;
interface Interaction {
  moves: Move[];
  act: (action: BlackboxAction, timing: ActionTiming) => Promise<ActionReply>;
  on_refusal: (error: unknown) => void;
}
/** jsPsych fills in the defaults before it calls the plugin. The type `TrialType` does not include the defaults. */
type Trial = TrialType<Info> & BlackboxPlayContent & Interaction & TrialParameters;

const POINTS_PER_MISSED_ATOM = 5;

/** Number of rays that a simulated participant fires. */
const SIMULATED_RAYS = 3;

/** A Black Box with hidden atoms: the participant fires rays, marks cells, and says where the atoms are. */
export default class BlackboxPlayPlugin extends TrialPlugin<number, Trial> implements JsPsychPlugin<Info> {
  static info = info;

  stimulus(trial: Trial) {
    return new BlackboxPlayStimulus(trial);
  }

  protected randomResponse({ moves }: Trial): number {
    return moves.length + SIMULATED_RAYS + 1;
  }

  protected giveResponse(_response: number, rt_ms: number, trial: Trial): void {
    const { ports, cells } = randomGame(this.jsPsych, trial);
    const find = (selector: string) => document.querySelector(selector)!;
    const click = (selector: string, delay_ms = 0) => this.jsPsych.pluginAPI.clickTarget(find(selector), delay_ms);
    const whenIdle = async () => {
      while (document.querySelector(".blackbox-play.busy")) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    const play = async () => {
      for (const port of ports) {
        click(`[data-port="${port}"]`);
        await whenIdle();
      }
      click("#play-guess");
      for (const cell of cells) click(`[data-cell="${cell.join()}"]`);
      click("#submit-response");
    };
    setTimeout(() => void play(), trial.reading_ms + rt_ms);
  }

  /** Plays a game without showing it. */
  override async simulate(
    trial: Trial,
    simulation_mode: "data-only" | "visual",
    simulation_options: { data?: Partial<TrialData<number>> },
    on_load: () => void = () => {},
  ): Promise<TrialData<number>> {
    if (simulation_mode === "data-only") {
      const { ports, cells } = randomGame(this.jsPsych, trial);
      const actions: BlackboxAction[] = [...ports.map((port) => ({ action: "fire" as const, port })), { action: "guess", cells }];
      on_load();
      for (const [index, action] of actions.entries()) {
        await trial.act(action, { since_onset_ms: 1_000 * (index + 1), rt_ms: 1_000, input: "mouse" });
      }
      return super.simulate(trial, simulation_mode, simulation_options);
    }
    return super.simulate(trial, simulation_mode, simulation_options, on_load);
  }
}

function randomGame({ randomization }: JsPsych, { size, n_atoms, n_rays, moves }: Trial): { ports: Port[]; cells: Cell[] } {
  const used = moves.map(({ action }) => (action.action === "fire" ? action.port : null));
  const free = portsOf(size).filter((port) => !used.includes(port));
  const all = Array.from({ length: size * size }, (_, index): Cell => [Math.floor(index / size) + 1, (index % size) + 1]);
  return {
    ports: randomization.sampleWithoutReplacement(free, Math.min(SIMULATED_RAYS, n_rays)),
    cells: randomization.sampleWithoutReplacement(all, n_atoms),
  };
}

export class BlackboxPlayStimulus implements Stimulus<number> {
  readonly element: HTMLElement;
  readonly controls: Element[];
  private board: PlayBoard;
  private rays = html("p", { id: "play-rays" });
  private status = html("p", { id: "play-status", role: "status" });
  private guessButton = html("button", { id: "play-guess", class: "primary", type: "button" }, say("play_guess"));
  private backButton = html("button", { id: "play-back", type: "button", hidden: true }, say("play_back"));
  private submitButton = html("button", { id: "submit-response", class: "primary", type: "button", hidden: true }, say("play_submit"));
  private continueButton = html("button", { id: "play-continue", class: "primary", type: "button", hidden: true }, say("continue"));

  private n_moves = 0;
  private n_rays = 0;
  private n_pairs = 0;
  private points = 0;
  private used = new Set<Port>();
  private marks = new Map<string, Cell>();
  /** The cells of the guess, while the participant is guessing; otherwise null. */
  private chosen: Map<string, Cell> | null = null;
  private isBusy = false;
  private isOver = false;
  private onset!: () => Promise<Onset>;
  /** When the last observation appeared; null before the first observation of this visit. */
  private seen_ms: number | null = null;
  private responseWindow!: ResponseWindow;
  private finish!: (given: GivenResponse<number>) => void;

  constructor(private trial: BlackboxPlayContent & TimeBounds & Partial<Interaction>) {
    const { size, n_atoms, allow_marks, moves = [] } = trial;
    const fire = (port: Port, event: Event) => this.onPort(port, event);
    this.board = new PlayBoard(size, fire, (cell, event) => this.onCell(cell, event));
    this.controls = [this.guessButton];
    const hints = timeHints(trial);
    const buttons = [this.guessButton, this.submitButton, this.backButton, this.continueButton];
    this.element = html(
      "div",
      { id: "stimulus", class: "blackbox-play", translate: "no", role: "group", tabindex: -1, lang: TEXTS_LANGUAGE, "aria-labelledby": "prompt" },
      html("h1", { id: "prompt" }, say("play_prompt", { atoms: n_atoms })),
      ...hints,
      this.board.element,
      html("div", { class: "play-panel" }, this.rays, this.status, html("div", { class: "buttons" }, ...buttons)),
    );
    this.guessButton.addEventListener("click", (event) => this.takes(event) && this.beginGuess());
    this.backButton.addEventListener("click", (event) => this.takes(event) && this.endGuess());
    this.submitButton.addEventListener("click", (event) => void this.onSubmit(event));
    this.status.textContent = say(allow_marks ? "play_open" : "play_open_without_marks");
    for (const { action, observation } of moves) this.show(action, observation);
    this.showState();
  }

  begins(onset: () => Promise<Onset>): void {
    this.onset = onset;
  }

  responded(responseWindow: ResponseWindow): Promise<GivenResponse<number>> {
    this.responseWindow = responseWindow;
    return new Promise((resolve) => (this.finish = resolve));
  }

  close(): void {
    this.isOver = true;
    this.status.textContent = "";
    this.element.classList.add("closed");
    this.board.enable(false, false);
    for (const button of [this.guessButton, this.backButton, this.submitButton]) button.hidden = true;
  }

  /** The moves are shown already. */
  showResponse(): void {}

  showSolution(solution: unknown): void {
    const { atoms, rays } = solution as { atoms: Cell[]; rays: BlackboxRay[] };
    this.board.showSolution(atoms, rays, [...(this.chosen?.values() ?? [])]);
  }

  private takes(event: Event): boolean {
    return !this.isBusy && !this.isOver && this.responseWindow.takes(event);
  }

  private async onPort(port: Port, event: Event): Promise<void> {
    if (this.chosen || !this.takes(event)) return;
    if (this.used.has(port)) this.status.textContent = say("play_port_used");
    else if (this.n_rays >= this.trial.n_rays) this.status.textContent = say("play_no_rays_left");
    else {
      this.status.textContent = say("play_waiting");
      await this.act({ action: "fire", port }, event);
    }
  }

  private async onCell(cell: Cell, event: Event): Promise<void> {
    if (this.chosen) {
      if (this.takes(event)) this.choose(cell);
    } else if (this.trial.allow_marks && this.takes(event)) {
      await this.act({ action: this.marks.has(cell.join()) ? "unmark" : "mark", cell }, event);
    }
  }

  private async onSubmit(event: Event): Promise<void> {
    if (!this.takes(event) || this.chosen?.size !== this.trial.n_atoms) return;
    await this.act({ action: "guess", cells: [...this.chosen.values()] }, event);
  }

  /** Sends an action, and shows the observation. Until then, no other action is possible. */
  private async act(action: BlackboxAction, event: Event): Promise<void> {
    this.isBusy = true;
    this.element.classList.add("busy");
    const { onset_ms } = await this.onset();
    const since = (from_ms: number) => Math.max(0, event.timeStamp - from_ms);
    const timing = { since_onset_ms: since(onset_ms), rt_ms: since(this.seen_ms ?? onset_ms), input: inputOf(event) };
    let reply: ActionReply;
    try {
      reply = await this.trial.act!(action, timing);
    } catch (error) {
      // After the deadline, the trial has a response, and the server accepts no action that is still on its way.
      if (!this.responseWindow.closed.aborted) this.trial.on_refusal!(error);
      return;
    }
    const { observation, is_over } = reply;
    this.show(action, observation);
    this.isBusy = false;
    this.element.classList.remove("busy");
    this.showState();
    if (is_over) return this.end(observation, event);
    this.seen_ms = await painted();
  }

  /** Ends the trial, after the participant has seen the solution. The time of the response is that of the guess. */
  private end({ atoms, rays }: BlackboxObservation, event: Event): void {
    const given = { response: this.n_moves, event };
    this.close();
    if (!atoms || !rays) return this.finish(given);
    this.showSolution({ atoms, rays });
    const found = atoms.filter((cell) => this.chosen!.has(cell.join())).length;
    const points = this.points + POINTS_PER_MISSED_ATOM * (atoms.length - found);
    this.status.textContent = say(found === atoms.length ? "play_right" : "play_wrong", { found, atoms: atoms.length, points });
    this.continueButton.hidden = false;
    this.continueButton.focus({ preventScroll: true });
    this.continueButton.addEventListener("click", () => this.finish(given));
  }

  private show(action: BlackboxAction, observation: BlackboxObservation): void {
    this.n_moves++;
    if (observation.refused) {
      if (action.action === "fire") this.status.textContent = say(observation.refused === "port_used" ? "play_port_used" : "play_no_rays_left");
    } else if (action.action === "fire") this.showRay(action.port, observation.outcome!);
    else if (action.action !== "guess") this.showMark(action.cell, action.action === "mark");
  }

  private showRay(port: Port, outcome: "absorbed" | "reflected" | Port): void {
    this.n_rays++;
    this.points++;
    this.used.add(port);
    if (!isPort(outcome)) {
      this.status.textContent = say(`play_${outcome}` as "play_absorbed", { port: portName(port) });
      this.board.showResult(port, outcome === "absorbed" ? "H" : "R", say(`play_${outcome}` as "play_absorbed", { port: portSpoken(port) }));
      return;
    }
    this.points++;
    this.used.add(outcome);
    const number = ++this.n_pairs;
    this.status.textContent = say("play_exit", { port: portName(port), other: portName(outcome), number });
    for (const [one, other] of [
      [port, outcome],
      [outcome, port],
    ] as const) {
      this.board.showResult(one, String(number), say("play_exit", { port: portSpoken(one), other: portSpoken(other), number }));
    }
  }

  private showMark(cell: Cell, isMarked: boolean): void {
    const [row, column] = cell;
    if (isMarked) this.marks.set(cell.join(), cell);
    else this.marks.delete(cell.join());
    this.board.mark(cell, isMarked ? "suspected" : null);
    this.status.textContent = say(isMarked ? "play_marked" : "play_unmarked", { cell: say("cell", { row, column }) });
  }

  private showState(): void {
    const { n_rays, n_atoms, allow_marks } = this.trial;
    this.rays.textContent = say("play_rays", { used: this.n_rays, most: n_rays, points: this.points });
    const isGuessing = this.chosen !== null;
    this.board.enable(!isGuessing && this.n_rays < n_rays, isGuessing || allow_marks);
    this.guessButton.hidden = isGuessing;
    this.backButton.hidden = this.submitButton.hidden = !isGuessing;
    this.submitButton.disabled = this.chosen?.size !== n_atoms;
    this.element.classList.toggle("guessing", isGuessing);
  }

  /** Begins the guess with the marked cells, if they are not too many. */
  private beginGuess(): void {
    const marked = [...this.marks];
    this.chosen = new Map(marked.length <= this.trial.n_atoms ? marked : []);
    for (const cell of this.marks.values()) this.board.mark(cell, null);
    for (const cell of this.chosen.values()) this.board.mark(cell, "chosen");
    this.sayChosen();
    this.showState();
  }

  private endGuess(): void {
    for (const cell of this.chosen!.values()) this.board.mark(cell, null);
    for (const cell of this.marks.values()) this.board.mark(cell, "suspected");
    this.chosen = null;
    this.status.textContent = say(this.trial.allow_marks ? "play_open" : "play_open_without_marks");
    this.showState();
    this.guessButton.focus({ preventScroll: true });
  }

  private choose(cell: Cell): void {
    const chosen = this.chosen!;
    const name = cell.join();
    if (chosen.has(name)) chosen.delete(name);
    else if (chosen.size < this.trial.n_atoms) chosen.set(name, cell);
    this.board.mark(cell, chosen.has(name) ? "chosen" : null);
    this.sayChosen();
    this.showState();
  }

  private sayChosen(): void {
    this.status.textContent = say("play_choose", { chosen: this.chosen!.size, atoms: this.trial.n_atoms });
  }
}

/** The board of a Black Box with hidden atoms: a grid of buttons for the cells, and the ports around it.
 *
 * The tab key reaches one button of the board, and the arrow keys reach the others. Marks differ in shape and word, never only
 * in colour.
 */
import { html, svg } from "../pages/dom";
import { say } from "../pages/texts";
import type { BlackboxRay } from "../saving/server-api";
import { type Cell, parsePort, type Port, portCell, portsOf } from "./blackbox-ports";
import { portSpoken } from "./blackbox-words";

/** Steps of the arrow keys: rows and columns. */
const STEPS: Record<string, Cell> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The mark of a cell: suspected by the participant, chosen for the guess, or an atom of the solution. */
export type CellMark = "suspected" | "chosen" | "atom" | "missed";

export class PlayBoard {
  readonly element: HTMLElement;
  /** The buttons by their place: rows and columns from 0 to `size` + 1. The ports are in the first and last ones. */
  private buttons = new Map<string, HTMLButtonElement>();
  private reachable!: HTMLButtonElement;

  constructor(
    private size: number,
    onPort: (port: Port, event: Event) => void,
    onCell: (cell: Cell, event: Event) => void,
  ) {
    this.element = html("div", { class: "play-board", role: "group", "aria-labelledby": "prompt" });
    this.element.style.setProperty("--places", String(size + 2));
    for (const port of portsOf(size)) {
      const { side, position } = parsePort(port);
      const name = html("span", { class: "port-name" }, side[0]!.toUpperCase() + position);
      const button = html("button", { type: "button", class: "play-port", "data-port": port, "aria-label": portSpoken(port) }, name);
      button.addEventListener("click", (event) => onPort(port, event));
      this.place(portCell(port, size), button);
    }
    for (let row = 1; row <= size; row++) {
      for (let column = 1; column <= size; column++) {
        const button = html("button", { type: "button", class: "play-cell", "data-cell": `${row},${column}` });
        button.addEventListener("click", (event) => onCell([row, column], event));
        this.place([row, column], button);
        this.mark([row, column], null);
      }
    }
    this.reach(this.buttons.get("1,1")!);
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.element.addEventListener("focusin", ({ target }) => this.reach(target as HTMLButtonElement));
  }

  /** Shows the result of a ray at a port: `H`, `R` or the number of a pair. `spoken` is the result for screen readers. */
  showResult(port: Port, result: string, spoken: string): void {
    const button = this.buttons.get(String(portCell(port, this.size)))!;
    button.classList.add("used");
    button.setAttribute("aria-disabled", "true");
    button.setAttribute("aria-label", spoken);
    button.append(html("strong", { class: "port-result" }, result));
  }

  /** Marks a cell; null removes the mark. */
  mark([row, column]: Cell, mark: CellMark | null): void {
    const button = this.buttons.get(`${row},${column}`)!;
    button.classList.remove("suspected", "chosen", "atom", "missed");
    if (mark) button.classList.add(mark);
    button.setAttribute("aria-label", say("cell", { row, column }));
    button.setAttribute("aria-pressed", String(mark === "suspected" || mark === "chosen"));
  }

  /** Shows whether the ports and the cells can be used. They keep the focus, so that screen readers can read them. */
  enable(ports: boolean, cells: boolean): void {
    for (const button of this.buttons.values()) {
      const isUsable = button.dataset.port ? ports && !button.classList.contains("used") : cells;
      if (isUsable) button.removeAttribute("aria-disabled");
      else button.setAttribute("aria-disabled", "true");
    }
  }

  /** Draws the atoms, and the paths of all rays. */
  showSolution(atoms: Cell[], rays: BlackboxRay[], chosen: Cell[]): void {
    this.enable(false, false);
    for (const cell of atoms) this.mark(cell, chosen.some((one) => String(one) === String(cell)) ? "atom" : "missed");
    const places = this.size + 2;
    const middle = ([row, column]: Cell) => `${column + 0.5},${row + 0.5}`;
    const lines = rays.filter(({ path }) => path.length > 0).map(({ port, outcome, path }) => {
      const exit = outcome === "absorbed" ? [] : [this.edge(outcome === "reflected" ? port : outcome)];
      return svg("polyline", { points: [this.edge(port), ...path.map(middle), ...exit].join(" ") });
    });
    this.element.append(svg("svg", { class: "play-rays", viewBox: `0 0 ${places} ${places}`, "aria-hidden": "true" }, ...lines));
  }

  /** Returns the middle of the edge between a port and the board, as a point of the drawing of rays. */
  private edge(port: Port): string {
    const inside = (place: number) => Math.min(Math.max(place + 0.5, 1), this.size + 1);
    const [row, column] = portCell(port, this.size);
    return `${inside(column)},${inside(row)}`;
  }

  private place([row, column]: Cell, button: HTMLButtonElement): void {
    button.style.gridArea = `${row + 1} / ${column + 1}`;
    button.tabIndex = -1;
    button.dataset.place = `${row},${column}`;
    this.buttons.set(`${row},${column}`, button);
    this.element.append(button);
  }

  private reach(button: HTMLButtonElement): void {
    if (this.reachable) this.reachable.tabIndex = -1;
    button.tabIndex = 0;
    this.reachable = button;
  }

  private onKey(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault(); // the arrow keys would scroll the page
    const [row, column] = this.reachable.dataset.place!.split(",").map(Number) as Cell;
    const next = this.buttons.get(`${row + step[0]},${column + step[1]}`);
    if (next) next.focus({ preventScroll: true });
  }
}

/** The Black Box board as SVG: grid, atoms, and the ports around the grid. The ports are radio buttons for assistive
 * technology. Marks differ in word and shape, never only in colour. The colours are in style/colours.css.
 */
import type { BlackboxContent, BlackboxSolution } from "../saving/server-api";
import { atomsInWords, portSpoken, rayEnters } from "./blackbox-words";
import { html, svg } from "../pages/dom";
import { type ArrowKey, type Cell, isPort, parsePort, type Port, portCell, portsOf, portTowards } from "./blackbox-ports";
import { say } from "../pages/texts";

/** Side of a cell in SVG units. A whole number far above 1 keeps text sharp in every browser. */
const CELL = 40;

/** Space around the board in which a tap still chooses the nearest port, in SVG units. */
const MARGIN = 16;

/** Radius of the ring around an atom, in cells. */
const RING = 0.42;

/** Rotation that turns an arrow of the north edge into an arrow of another edge. */
const INWARD_DEGREES = { north: 0, east: 90, south: 180, west: 270 };

interface Point {
  x: number;
  y: number;
}

const centre = ([row, column]: Cell): Point => ({ x: (column + 0.5) * CELL, y: (row + 0.5) * CELL });

/** Returns the point where a ray reaches the ring around an atom. */
function beforeAtom(from: Point, atom: Point): Point {
  const share = 1 - (RING * CELL) / Math.hypot(atom.x - from.x, atom.y - from.y);
  return { x: from.x + share * (atom.x - from.x), y: from.y + share * (atom.y - from.y) };
}

/** Returns the outline of the area in which a tap chooses a port. A port is only as wide as a cell, because its neighbours
 * are beside it. So the area is longer: it reaches out of the board by the given margin and into the board by one cell,
 * where there is nothing else to tap. In a corner cell, the diagonal separates the areas of two ports.
 */
function targetOf(port: Port, size: number): string {
  const { side, position } = parsePort(port);
  const from = position * CELL;
  const inner = (at: number) => (at === CELL || at === (size + 1) * CELL ? CELL : 2 * CELL);
  // The outline at the top edge: x along the edge, y from the outer end to the inner end.
  const outline = [from, from + CELL].map((x) => [x, -MARGIN]).concat([from + CELL, from].map((x) => [x, inner(x)]));
  const far = (size + 2) * CELL;
  const place = { north: ([x, y]: number[]) => [x, y], south: ([x, y]: number[]) => [x, far - y!], west: ([x, y]: number[]) => [y, x], east: ([x, y]: number[]) => [far - y!, x] };
  return outline.map((point) => place[side](point).join()).join(" ");
}

export class Board {
  readonly element: SVGSVGElement;
  private ports = new Map<Port, SVGGElement>();
  private chosen: Port | null = null;
  private locked = false;

  /** `labelId` is the id of the element with the question. `onChoose` receives every port that the participant chooses. */
  constructor(
    private content: BlackboxContent,
    labelId: string,
    private onChoose: (port: Port, event: Event) => void,
  ) {
    const { size, atoms } = content;
    const side = (size + 2) * CELL;
    this.element = svg("svg", {
      class: "board",
      viewBox: `0 0 ${side} ${side}`,
      role: "radiogroup",
      "aria-labelledby": labelId,
    });
    this.element.append(this.grid(), ...atoms.map((atom) => this.atom(atom)));
    for (const port of portsOf(size)) {
      const group = this.port(port);
      this.ports.set(port, group);
      this.element.append(group);
    }
    this.element.append(this.arrow(content.entry, "in"));
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    this.choose(null);
  }

  /** Marks `port` as the chosen response; null removes the mark. */
  choose(port: Port | null): void {
    this.chosen = port;
    this.element.querySelector(".arrow-out")?.remove();
    if (port && port !== this.content.entry) this.element.append(this.arrow(port, "out"));
    // Roving tabindex: the tab key reaches one port, and the arrow keys reach the other ports.
    const reachable = port ?? this.content.entry;
    for (const [name, group] of this.ports) {
      group.setAttribute("aria-checked", String(name === port));
      group.setAttribute("tabindex", name === reachable ? "0" : "-1");
      group.classList.toggle("chosen", name === port);
      this.label(name, this.markBeforeFeedback(name));
    }
  }

  /** Moves the choice with an arrow key. Begins at the entry port if no port is chosen yet. */
  chooseTowards(press: KeyboardEvent): void {
    const port = portTowards(this.chosen ?? this.content.entry, press.key as ArrowKey, this.content.size);
    this.onChoose(port, press);
    this.ports.get(port)!.focus({ preventScroll: true });
  }

  /** Draws the ray's actual path. After this, the board accepts no response. */
  showSolution({ outcome, path, encounters }: BlackboxSolution): void {
    this.locked = true;
    const { entry } = this.content;
    const exit = outcome === "absorbed" ? null : isPort(outcome) ? outcome : entry;
    this.element.querySelector(".arrow-out")?.remove();
    for (const [name, group] of this.ports) {
      group.setAttribute("tabindex", "-1");
      group.setAttribute("aria-disabled", "true");
      group.classList.toggle("outcome", name === exit);
      this.label(name, this.markInFeedback(name, exit));
    }
    if (path.length > 0) {
      const points = [this.edge(entry), ...path.map(centre), ...(exit ? [this.edge(exit)] : [])];
      if (!exit) points.push(beforeAtom(points.at(-2)!, points.pop()!));
      const route = points.map(({ x, y }) => `${x},${y}`).join(" ");
      // A wide line below a narrow line keeps the path visible over grid and atoms.
      this.element.append(svg("polyline", { class: "ray-halo", points: route }), svg("polyline", { class: "ray", points: route }));
    }
    this.element.append(this.arrow(entry, "in"));
    if (exit && exit !== entry) this.element.append(this.arrow(exit, "ray-out"));
    for (const { n_cells } of encounters) {
      if (n_cells > 0) this.element.append(this.turningPoint(path[n_cells - 1]!));
    }
    const numbers = new Map<string, number[]>();
    encounters.forEach(({ atoms }, index) => {
      for (const atom of atoms) numbers.set(String(atom), [...(numbers.get(String(atom)) ?? []), index + 1]);
    });
    for (const atom of this.content.atoms) {
      const ofAtom = numbers.get(String(atom));
      if (ofAtom) this.element.append(this.encounter(atom, ofAtom));
    }
  }

  private onKey(event: KeyboardEvent): void {
    if (event.key !== " " || event.repeat || this.locked) return;
    const port = (event.target as Element).closest<SVGGElement>("[data-port]")?.dataset.port;
    if (!port) return;
    event.preventDefault(); // the space bar would scroll the page
    this.onChoose(port as Port, event);
  }

  private markBeforeFeedback(port: Port): string {
    const { entry } = this.content;
    if (port === entry) return port === this.chosen ? say("mark_back") : say("mark_in");
    return port === this.chosen ? say("mark_out") : "";
  }

  private markInFeedback(port: Port, exit: Port | null): string {
    if (port === exit) return port === this.chosen ? "✓" : say("mark_ray");
    if (port === this.chosen) return say("mark_you");
    return port === this.content.entry ? say("mark_in") : "";
  }

  private grid(): SVGGElement {
    const { size } = this.content;
    const lines = [];
    for (let line = 2; line <= size; line++) {
      lines.push(`M${line * CELL},${CELL}v${size * CELL}M${CELL},${line * CELL}h${size * CELL}`);
    }
    const box = { x: CELL, y: CELL, width: size * CELL, height: size * CELL };
    return svg("g", { "aria-hidden": "true" }, svg("rect", { class: "box", ...box }), svg("path", { class: "grid", d: lines.join("") }));
  }

  private atom(cell: Cell): SVGCircleElement {
    const { x, y } = centre(cell);
    return svg("circle", { class: "atom", cx: x, cy: y, r: CELL * 0.32, "aria-hidden": "true" });
  }

  /** Draws a ring around an atom that changed the course of the ray, with the numbers of its sentences in the feedback. */
  private encounter(cell: Cell, numbers: number[]): SVGGElement {
    const { x, y } = centre(cell);
    const ring = svg("circle", { cx: x, cy: y, r: CELL * RING });
    return svg("g", { class: "encounter", "aria-hidden": "true" }, ring, svg("text", { x, y: y + 5 }, numbers.join(",")));
  }

  private turningPoint(cell: Cell): SVGCircleElement {
    const { x, y } = centre(cell);
    return svg("circle", { class: "turning-point", cx: x, cy: y, r: 5, "aria-hidden": "true" });
  }

  private port(port: Port): SVGGElement {
    const { entry, size } = this.content;
    const [row, column] = portCell(port, size);
    const box = { x: column * CELL + 1.5, y: row * CELL + 1.5, width: CELL - 3, height: CELL - 3, rx: 6 };
    const isEntry = port === entry;
    const group = svg(
      "g",
      {
        class: isEntry ? "port entry" : "port",
        role: "radio",
        "aria-label": isEntry ? say("port_spoken_entry", { port: portSpoken(port) }) : portSpoken(port),
        "data-port": port,
      },
      svg("polygon", { class: "target", points: targetOf(port, size) }),
      svg("rect", box),
    );
    group.addEventListener("click", (event) => {
      if (!this.locked) this.onChoose(port, event);
    });
    return group;
  }

  /** Writes a port's short name, and the mark below the name. */
  private label(port: Port, mark: string): void {
    const { side, position } = parsePort(port);
    const { x, y } = centre(portCell(port, this.content.size));
    const group = this.ports.get(port)!;
    group.querySelectorAll("text").forEach((text) => text.remove());
    group.append(svg("text", { class: "port-name", x, y: mark ? y - 3 : y + 5 }, side[0]!.toUpperCase() + position));
    if (mark) group.append(svg("text", { class: "port-mark", x, y: y + 12 }, mark));
  }

  /** Returns the middle of the edge between a port and the box. */
  private edge(port: Port): { x: number; y: number } {
    const { size } = this.content;
    const [row, column] = portCell(port, size);
    const { x, y } = centre([row, column]);
    const half = CELL / 2;
    return {
      x: column === 0 ? x + half : column === size + 1 ? x - half : x,
      y: row === 0 ? y + half : row === size + 1 ? y - half : y,
    };
  }

  private arrow(port: Port, kind: "in" | "out" | "ray-out"): SVGPathElement {
    const { x, y } = this.edge(port);
    return svg("path", {
      class: `arrow arrow-${kind}`,
      d: kind === "in" ? "M-8,0h16l-8,11z" : "M-8,11h16l-8,-11z",
      transform: `translate(${x},${y}) rotate(${INWARD_DEGREES[parsePort(port).side]})`,
      "aria-hidden": "true",
    });
  }
}

/** Describes the board for every participant in words: the entry of the ray and the cells of the atoms. */
export function describeBoard({ atoms, entry }: BlackboxContent): HTMLElement {
  const inReadingOrder = [...atoms].sort(([row, column], [otherRow, otherColumn]) => row - otherRow || column - otherColumn);
  return html("div", { class: "board-in-words" }, html("p", {}, rayEnters(entry)), html("p", {}, atomsInWords(inReadingOrder)));
}

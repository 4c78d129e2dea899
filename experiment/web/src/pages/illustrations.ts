/** Small drawings above the pages. The server writes the drawings into the page (server/templates/illustrations.html), so
 * that its own pages can show them too. They are decoration, and screen readers skip them.
 */
import { svg } from "./dom";

export type Illustration = "consent" | "instructions" | "break" | "end" | "goodbye" | "person" | "device" | "screen" | "keyboard" | "unplugged";

/** Drawings that show a direction. They are mirrored in languages that are read from right to left. */
const POINTING: readonly Illustration[] = ["goodbye", "instructions"];

export function illustration(name: Illustration): SVGElement {
  const kind = POINTING.includes(name) ? "illustration pointing" : "illustration";
  return svg("svg", { class: kind, viewBox: "0 0 96 64", "aria-hidden": "true" }, svg("use", { href: `#drawing-${name}` }));
}

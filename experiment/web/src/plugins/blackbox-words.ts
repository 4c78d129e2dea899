/** A Black Box board in words, for participants who cannot see the board or want to check it. */
import { type Cell, parsePort, type Port } from "./blackbox-ports";
import { say } from "../pages/texts";

export function atomsInWords(atoms: Cell[]): string {
  return atoms.length === 0 ? say("no_atoms") : say("atoms_at", { cells: cellsInWords(atoms) });
}

export function rayEnters(entry: Port): string {
  const { side, position } = parsePort(entry);
  return say(`ray_enters_${side}`, { port: portName(entry), position });
}

export function rayPath(path: Cell[]): string {
  return path.length === 0 ? say("ray_never_in") : say("ray_path", { cells: cellsInWords(path) });
}

export function portName(port: Port): string {
  const { side, position } = parsePort(port);
  return `${say(`side_${side}`)} ${position}`;
}

export function portSpoken(port: Port): string {
  const { side, position } = parsePort(port);
  return say(`port_spoken_${side}`, { position });
}

function cellsInWords(cells: Cell[]): string {
  return cells.map(([row, column]) => say("cell", { row, column })).join(say("between_cells"));
}

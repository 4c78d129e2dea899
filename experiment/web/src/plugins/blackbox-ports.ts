/** Names and positions of the 4 x size ports around a Black Box board. Rows and columns are counted from 1, from the top
 * left.
 */

export type Side = "north" | "east" | "south" | "west";
export type Port = `${Side}-${number}`;
export type Cell = [row: number, column: number];
export type ArrowKey = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

export function port(side: Side, position: number): Port {
  return `${side}-${position}`;
}

export function parsePort(name: Port): { side: Side; position: number } {
  const [side, position] = name.split("-");
  return { side: side as Side, position: Number(position) };
}

export function isPort(response: string): response is Port {
  return /^(north|east|south|west)-\d+$/.test(response);
}

/** Returns all ports, clockwise from the top left. */
export function portsOf(size: number): Port[] {
  const positions = Array.from({ length: size }, (_, index) => index + 1);
  const reversed = [...positions].reverse();
  return [
    ...positions.map((position) => port("north", position)),
    ...positions.map((position) => port("east", position)),
    ...reversed.map((position) => port("south", position)),
    ...reversed.map((position) => port("west", position)),
  ];
}

/** Returns the cell of a port in the frame around the board. The row or the column of this cell is 0 or size + 1. */
export function portCell(name: Port, size: number): Cell {
  const { side, position } = parsePort(name);
  switch (side) {
    case "north":
      return [0, position];
    case "south":
      return [size + 1, position];
    case "west":
      return [position, 0];
    case "east":
      return [position, size + 1];
  }
}

/** Returns the port that an arrow key selects: the next port on the edge or around the corner, or the opposite port. */
export function portTowards(from: Port, key: ArrowKey, size: number): Port {
  const { side, position } = parsePort(from);
  const forward = key === "ArrowRight" || key === "ArrowDown";
  const horizontalKey = key === "ArrowLeft" || key === "ArrowRight";
  const horizontalEdge = side === "north" || side === "south";
  if (horizontalKey === horizontalEdge) {
    const next = position + (forward ? 1 : -1);
    if (next >= 1 && next <= size) return port(side, next);
    const corner = side === "north" || side === "west" ? 1 : size;
    if (horizontalEdge) return port(forward ? "east" : "west", corner);
    return port(forward ? "south" : "north", corner);
  }
  switch (side) {
    case "north":
      return forward ? port("south", position) : from;
    case "south":
      return forward ? from : port("north", position);
    case "west":
      return forward ? port("east", position) : from;
    case "east":
      return forward ? from : port("west", position);
  }
}

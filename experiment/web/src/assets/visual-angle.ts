/** Sizes and positions in degrees of visual angle. They need the size of the screen and the viewing distance. */

/** CSS pixels per cm by the definition of CSS. It is used where nobody has measured the screen, such as in simulations. */
export const NOMINAL_PX_PER_CM = 96 / 2.54;

export interface ScreenMeasures {
  /** Null if the participant has no card. */
  px_per_cm: number | null;
  /** The viewing distance that the page asked for. */
  distance_cm: number;
}

/** Size and position of a part on the screen; absent if the item does not give them. */
export interface Degrees {
  width_deg?: number;
  /** To the right of the centre. */
  x_deg?: number;
  /** Above the centre. */
  y_deg?: number;
}

let measures: ScreenMeasures = { px_per_cm: null, distance_cm: 57 };

export function useMeasures(found: ScreenMeasures): void {
  measures = found;
}

/** Gives a picture or video its size in degrees, if it has one. */
export function setSize(element: HTMLElement, { width_deg }: Degrees): void {
  if (width_deg === undefined) return;
  element.classList.add("in-degrees");
  element.style.width = `${2 * distance_px() * Math.tan(radians(width_deg) / 2)}px`;
}

export function isPlaced({ x_deg, y_deg }: Degrees): boolean {
  return x_deg !== undefined || y_deg !== undefined;
}

/** Moves an element from the centre of its area. All elements of the area are in one cell of a grid, and a margin of twice
 * the distance moves the middle of an element by the distance.
 */
export function setPosition(element: HTMLElement, { x_deg = 0, y_deg = 0 }: Degrees): void {
  const [right_px, up_px] = [x_deg, y_deg].map((degrees) => 2 * distance_px() * Math.tan(radians(degrees)));
  const margins_px = [-up_px!, -right_px!, up_px!, right_px!].map((margin) => `${Math.max(0, margin)}px`);
  element.style.margin = margins_px.join(" "); // top, right, bottom, left
}

function distance_px(): number {
  return measures.distance_cm * (measures.px_per_cm ?? NOMINAL_PX_PER_CM);
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180;
}

/** The display's frame interval, estimated from the time stamps of frames.
 *
 * Some browsers' time stamps are whole milliseconds, and all browsers miss frames and report some frames late. So no single
 * interval decides. The estimate is the rate at which the time stamps are most in step: the peak of their periodogram
 * (Bartlett, 1963), made exact by a line through the time stamps and their frame numbers.
 */

/** Frame interval that is assumed where none is known: in the first frame, or if the browser's clock is too coarse. */
export const COMMON_FRAME_MS = 1000 / 60;

/** Refresh rates of displays, in Hz. The rates divided by 1.001 come from television (59.94 Hz). */
const USUAL_HZ = [24, 25, 30, 48, 50, 60 / 1.001, 60, 72, 75, 85, 90, 100, 120 / 1.001, 120, 144, 165, 175, 180, 200, 240, 280, 300, 360, 480, 500];

/** Largest difference, as a share, between a measured rate and the usual rate of the display. */
const USUAL_TOLERANCE = 0.01;

const LEAST_STAMPS = 8;

/** Rates that are searched first, as shares of the rate of the median interval. */
const NEAR_MEDIAN = [0.75, 1.4] as const;

/** Rates that are searched if at least half of the frames are missing, so that the median is two or three intervals. A
 * double rate is always somewhat in step too, so it must be almost perfectly in step.
 */
const MULTIPLES = [[1.8, 2.2], [2.7, 3.3]] as const;
const ALMOST_ALL = 0.9;

/** Least share by which most time stamps are in step with a rate. */
export const MOST = 0.6;

/** Number of rates that are tried within the width of the peak. */
const STEPS = 8;

interface Rate {
  /** Share by which the time stamps are in step with the rate, from 0 to 1. */
  inStep: number;
  /** In frames per ms. */
  rate: number;
  /** Usual phase of the time stamps, in frames. */
  phase: number;
}

/** Returns the measured interval; null if there are too few time stamps, or the clock is too coarse for frames. */
export function estimateInterval(stamps_ms: number[]): { interval_ms: number; inStep: number } | null {
  if (stamps_ms.length < LEAST_STAMPS) return null;
  const median_ms = medianInterval_ms(stamps_ms);
  if (median_ms < 1) return null;
  const near = peak(NEAR_MEDIAN, median_ms, stamps_ms);
  const multiples = near.inStep < MOST ? MULTIPLES.map((range) => peak(range, median_ms, stamps_ms)) : [];
  const { inStep, rate, phase } = multiples.find((found) => found.inStep > ALMOST_ALL) ?? near;
  const numbers = stamps_ms.map((stamp_ms) => Math.round((stamp_ms - stamps_ms[0]!) * rate - phase));
  return { interval_ms: slope(numbers, stamps_ms), inStep };
}

/** Returns the rate of a range that is most in step. */
function peak([lowest, highest]: readonly [number, number], median_ms: number, stamps_ms: number[]): Rate {
  const step = 1 / (STEPS * (stamps_ms.at(-1)! - stamps_ms[0]!));
  let best: Rate = { inStep: -1, rate: 0, phase: 0 };
  for (let rate = lowest / median_ms; rate < highest / median_ms; rate += step) {
    const found = inStepWith(rate, stamps_ms);
    if (found.inStep > best.inStep) best = found;
  }
  return best;
}

/** Returns the interval of the usual refresh rate that is nearest, or the measured interval if no usual rate is near. */
export function usualInterval_ms(measured_ms: number): number {
  const distance = (hz: number) => Math.abs((hz * measured_ms) / 1000 - 1);
  const nearest_hz = USUAL_HZ.reduce((best, hz) => (distance(hz) < distance(best) ? hz : best));
  return distance(nearest_hz) <= USUAL_TOLERANCE ? 1000 / nearest_hz : measured_ms;
}

function inStepWith(rate: number, stamps_ms: number[]): Rate {
  let [x, y] = [0, 0];
  for (const stamp_ms of stamps_ms) {
    const angle = 2 * Math.PI * (stamp_ms - stamps_ms[0]!) * rate;
    x += Math.cos(angle);
    y += Math.sin(angle);
  }
  return { inStep: Math.hypot(x, y) / stamps_ms.length, rate, phase: Math.atan2(y, x) / (2 * Math.PI) };
}

function medianInterval_ms(stamps_ms: number[]): number {
  const intervals_ms = stamps_ms.slice(1).map((stamp_ms, index) => stamp_ms - stamps_ms[index]!);
  return intervals_ms.sort((one, other) => one - other)[intervals_ms.length >> 1]!;
}

/** Returns the slope of the least-squares line. */
function slope(xs: number[], ys: number[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(xs), mean(ys)];
  const covariance = xs.reduce((sum, one, index) => sum + (one - x) * (ys[index]! - y), 0);
  return covariance / xs.reduce((sum, one) => sum + (one - x) ** 2, 0);
}

/** Reading a number that a participant typed. */

export interface TypedNumber {
  value: number;
  /** Number of typed decimals. */
  decimals: number;
}

/** Parses a number in European, Arabic or Persian digits, with a point or a comma before the decimals. Returns null for
 * anything else, and for a number with separators of thousands, which could mean two numbers.
 */
export function typedNumber(text: string): TypedNumber | null {
  const digits = text
    .trim()
    .replace(/[٠-٩۰-۹]/g, (digit) => String(digit.charCodeAt(0) & 0xf))
    .replace(/[,٫]/g, ".")
    .replace(/−/g, "-");
  const found = /^[+-]?(?:\d+(?:\.(\d*))?|\.(\d+))$/.exec(digits);
  return found && { value: Number(digits), decimals: (found[1] ?? found[2] ?? "").length };
}

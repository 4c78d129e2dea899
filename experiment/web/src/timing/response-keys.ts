/** The digit or the letter that a key means, on any keyboard layout.
 *
 * On many layouts, a key has no Latin letter or no European digit: the digits of a French keyboard need the shift key, an
 * Arabic keyboard types Arabic-Indic digits, and a Russian keyboard types Cyrillic letters. Then the position of the key
 * (`event.code`) decides. On Latin layouts the typed letter decides, because letters are at different positions.
 */

const DIGIT_CODE = /^(?:Digit|Numpad)([0-9])$/;
const LETTER_CODE = /^Key([A-Z])$/;

/** A letter of another script, or a key that an input method uses ("Process"). */
const NOT_LATIN = /^(?:Process|(?:(?!\p{Script=Latin})\p{L})+)$/u;

/** Returns the digit that a key means, or null. */
export function digitOf(event: KeyboardEvent): number | null {
  if (event.getModifierState("AltGraph")) return null;
  if (/^[0-9]$/.test(event.key)) return Number(event.key);
  const typed = [...event.key].length === 1 || /^(Process|Dead)$/.test(event.key); // not a key such as "End" on the number pad
  const position = typed && !event.shiftKey && DIGIT_CODE.exec(event.code);
  return position ? Number(position[1]) : null;
}

/** Returns the Latin letter that a key means, in lower case, or null. */
export function letterOf(event: KeyboardEvent): string | null {
  if (event.getModifierState("AltGraph")) return null;
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  const position = NOT_LATIN.test(event.key) && LETTER_CODE.exec(event.code);
  return position ? position[1]!.toLowerCase() : null;
}

const NAMED_KEYS: Record<string, string> = {
  " ": "space",
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** Returns the name of a key in a battery: a letter, a digit, `space` or a direction; null for any other key. */
export function keyNameOf(event: KeyboardEvent): string | null {
  return NAMED_KEYS[event.key] ?? letterOf(event) ?? digitOf(event)?.toString() ?? null;
}

/** Returns the value of `event.key` for the name of a key in a battery. */
export function typedKeyOf(name: string): string {
  return Object.keys(NAMED_KEYS).find((key) => NAMED_KEYS[key] === name) ?? name;
}

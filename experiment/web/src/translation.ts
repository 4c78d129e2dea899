/** Recognizes that the browser or an extension has translated the page. A translated item is not the item of the battery. */

/** Language of the page as the server sent it. */
const sentLanguage = document.documentElement.lang;

/** Marks that translators leave: Chrome wraps texts in `font` elements, and Edge adds attributes. Our pages have neither. */
const MARKS = "font, [_msttexthash], [_istranslated]";

/** True if the page was translated at the last click. The click may have removed the page with the marks. */
let wasTranslated = false;
document.addEventListener("click", () => (wasTranslated = hasMarks()), { capture: true, passive: true });

/** Returns true if the page is translated, as far as the translator leaves marks. */
export function isTranslated(): boolean {
  return wasTranslated || hasMarks();
}

function hasMarks(): boolean {
  const { lang, classList } = document.documentElement;
  const isMarked = classList.contains("translated-ltr") || classList.contains("translated-rtl");
  return isMarked || lang !== sentLanguage || document.body.querySelector(MARKS) !== null;
}

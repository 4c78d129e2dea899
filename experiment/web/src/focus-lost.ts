/** Counts how often the page loses the participant's focus: another window, another tab, a locked screen. */

/** Starts to count; the function returned stops and gives the count. */
export function countFocusLosses(): () => number {
  let losses = 0;
  let away = false;
  // A change of tab both blurs and hides the page; that is one loss.
  const leave = () => {
    if (!away) losses++;
    away = true;
  };
  const comeBack = () => {
    away = document.hidden;
  };
  const visibility = () => (document.hidden ? leave() : comeBack());
  window.addEventListener("blur", leave);
  window.addEventListener("focus", comeBack);
  document.addEventListener("visibilitychange", visibility);
  return () => {
    window.removeEventListener("blur", leave);
    window.removeEventListener("focus", comeBack);
    document.removeEventListener("visibilitychange", visibility);
    return losses;
  };
}

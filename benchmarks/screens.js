/**
 * Put into a page before its own scripts: notes in the browser's trace which screen each frame carries, and when keys and
 * buttons were pressed. It looks at the page from outside and polls nothing.
 */
(() => {
  const SCREENS = {
    button: "#consent-agree, #page-next, #feedback-continue",
    fixation: "#fixation",
    stimulus: "#stimulus, #jspsych-image-keyboard-response-stimulus",
    end: "#completion-code",
  };
  const QUIET_MS = 100; // whoever drives the page is told when the frames that matter are over

  let current = null;
  let number = 0;

  function find() {
    for (const [name, selector] of Object.entries(SCREENS)) {
      for (const element of document.querySelectorAll(selector)) {
        if (element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return [name, element];
      }
    }
    return ["blank", null];
  }

  function look() {
    const [name, element] = find();
    if (element === current) return;
    current = element;
    const screen = `screen:${++number}:${name}`;
    performance.mark(`${screen}:changed`);
    // Its first report comes in the frame that first carries the element, after all animation callbacks. An element that
    // is gone by then is not reported.
    new ResizeObserver((_, observer) => {
      observer.disconnect();
      performance.mark(`${screen}:framed`, { startTime: document.timeline.currentTime });
      if (element) setTimeout(() => window.screenShown?.(name), QUIET_MS);
    }).observe(element ?? document.documentElement);
  }

  const looked = { subtree: true, childList: true, attributeFilter: ["class", "hidden", "id", "style"] };
  new MutationObserver(look).observe(document, looked);
  for (const type of ["keydown", "click"]) {
    const pressed = (event) => performance.mark("press", { startTime: event.timeStamp });
    addEventListener(type, pressed, { capture: true });
  }
})();

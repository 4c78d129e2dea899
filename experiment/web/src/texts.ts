/** Every word that a participant reads and that does not come from the study itself. */
import { CARDINAL, type Cell, type Port, parsePort } from "./ports";

/** The language of these texts; elements that hold nothing else are marked with it. */
export const TEXTS_LANGUAGE = "en";

const EDGE = { north: "top edge", south: "bottom edge", west: "left edge", east: "right edge" };
const HEADING = { north: "down", south: "up", west: "right", east: "left" };

export const texts = {
  // Pages
  agree: "I agree, start",
  decline: "I do not agree",
  next: "Next",
  back: "Back",
  begin: "Begin",
  continue: "Continue",
  pageOf: (page: number, pages: number) => `Page ${page} of ${pages}`,
  welcomeBackTitle: "Welcome back",
  welcomeBack: (answered: number, total: number) =>
    `Your answers so far are saved (${answered} of ${total}). You will go on where you stopped.`,
  declinedTitle: "Thank you for your time",
  declined: "You chose not to take part. Nothing was stored. You can close this page.",
  withdrawnTitle: "You have left the study",
  withdrawn: "Your answers were deleted. Thank you for your time. You can close this page.",
  completedTitle: "You are done. Thank you!",
  completed: "All your answers are saved.",
  completionCode: "Your completion code:",
  copyCode: "Copy the code",
  codeCopied: "Copied.",
  codeNotCopied: "Please copy the selected code by hand.",
  errorTitle: "Something went wrong",
  reload: "Reload the page",

  // Waiting
  connecting: "One moment…",
  unreachable: "The server cannot be reached at the moment. We keep trying; you need not do anything.",
  busy: "The server cannot answer at the moment. We keep trying; you need not do anything.",
  sendingLast: "Sending your last answers. Please keep this page open…",
  sendingEarlier: "Sending your earlier answers. Please keep this page open…",

  // Around the trials
  practiceOf: (number: number, total: number) => (total > 1 ? `Practice ${number} of ${total}` : "Practice"),
  questionOf: (number: number, total: number) => `Question ${number} of ${total}`,
  progress: "Progress through the study",
  saving: "Saving…",
  saved: "All answers are saved.",
  delayed: "Saving takes a while – your answers are kept.",
  offline: "Offline – your answers are kept and will be sent.",
  notSavedTitle: "An answer could not be saved",
  notSaved: "Your earlier answers are safe. Reload the page to go on at the first question without a saved answer.",
  elsewhereTitle: "The study has stopped in this window",
  elsewhereKept: "Answers that could not be sent yet are kept in this browser.",

  // Leaving
  leave: "Leave the study",
  leaveTitle: "Leave the study?",
  leaveExplained: "If you leave, the answers you have given so far are deleted, and you cannot come back.",
  leaveStay: "Stay in the study",
  leaveConfirm: "Leave and delete my answers",
  leaveFailed: "The server cannot be reached, so your answers are not deleted yet. Please try again.",

  // Feedback in practice
  checking: "Checking your answer…",
  lastPractice: "The practice ends here. From now on you will not see whether your answers were right.",
  rightAnswer: "right answer",
  yourAnswer: "your answer",

  // multiple_choice
  multipleChoiceHelp: "Press the number of your answer, or click it.",

  // blackbox_predict
  blackboxQuestion: "What happens to the ray?",
  atoms: (atoms: Cell[]) =>
    atoms.length === 0
      ? "There are no atoms in the box."
      : `Atoms at ${atoms.map(([row, column]) => `row ${row} column ${column}`).join("; ")}.`,
  rayEnters: (entry: Port) => {
    const { side, position } = parsePort(entry);
    return `The ray enters at ${texts.portName(entry)}: ${EDGE[side]}, ${texts.line(entry)} ${position}, going ${HEADING[side]}.`;
  },
  /** What a port's position counts: columns along the top and bottom, rows along the sides. */
  line: (port: Port) => (["north", "south"].includes(parsePort(port).side) ? "column" : "row"),
  portName: (port: Port) => {
    const { side, position } = parsePort(port);
    return `${side.toUpperCase()} ${position}`;
  },
  portSpoken: (port: Port) => {
    const { side, position } = parsePort(port);
    return `${CARDINAL[side]}, ${texts.line(port)} ${position}`;
  },
  portSpokenEntry: (port: Port) => `${texts.portSpoken(port)}, where the ray enters`,
  absorbed: "Absorbed",
  absorbedHint: "it hits an atom",
  reflected: "Reflected",
  reflectedHint: "it comes back out",
  noAnswerYet: "Choose a place on the edge, or a button.",
  yourAnswerIs: (answer: string) => `Your answer: ${answer}`,
  leavesAtEntry: (port: string) => `${port}, leaves where it entered (reflected)`,
  submit: "Submit answer",
  keyboardTitle: "Keyboard",
  keyboardHelp: [
    ["N E S W, then 1–8", "a place on that edge"],
    ["arrow keys", "move along the edge"],
    ["A", "absorbed"],
    ["R", "reflected"],
    ["Enter", "submit"],
  ] as [string, string][],
  markIn: "IN",
  markOut: "OUT",
  markBack: "BACK",
  markYou: "YOU",
  markRay: "RAY",
  markRight: "✓",
  rayPath: (path: Cell[]) =>
    path.length === 0
      ? "The ray never got into the box."
      : `The ray's path: ${path.map(([row, column]) => `row ${row} column ${column}`).join(", ")}.`,
};

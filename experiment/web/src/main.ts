/**
 * The participant's way through a study: consent, instructions, trials, completion code.
 *
 * The server knows how far a session has come, so a reload at any point goes on where the participant was.
 * `#simulate=data-only` or `#simulate=visual` lets jsPsych's simulation mode take the participant's part. It stands behind
 * the `#` because the server takes everything behind a `?`, such as a panel's id, out of the address.
 *
 * Ids and attributes that tests may rely on: #consent-agree, #consent-decline, #page-next, #page-back, #fixation,
 * #stimulus, [data-option="2"], [data-port="west-5"], [data-answer="absorbed"], [data-answer="reflected"], #submit-answer,
 * #feedback-continue, #leave-study, #leave-confirm, #completion-code, #save-status, #progress, #notice.
 */
import { initJsPsych, type JsPsych } from "jspsych";
import {
  api,
  ApiError,
  type Feedback,
  isElsewhere,
  NoEntry,
  type Session,
  type SessionKind,
  type SessionTrial,
  type Study,
} from "./api";
import { measureFrameInterval_ms } from "./fixation";
import { showCompletion, showElsewhere, showEnd, showError, showNotice, showNotSaved, showWaiting } from "./notices";
import { Outbox } from "./outbox";
import BlackboxPredictPlugin from "./plugins/blackbox-predict";
import MultipleChoicePlugin from "./plugins/multiple-choice";
import PagePlugin, { type PageData } from "./plugins/page";
import { retrying } from "./retry";
import { ignoreHeldKeysOnButtons } from "./rt";
import type { TrialData } from "./run-trial";
import { createLeaveDialog, StudyBar } from "./study-bar";
import { say } from "./texts";
import { uuid4 } from "./uuid";

type Timeline = Extract<Parameters<JsPsych["run"]>[0], unknown[]>;
type TrialDescription = Timeline[number];

const main = document.getElementById("jspsych")!;
const askedSimulation = simulationMode(new URLSearchParams(location.hash.slice(1)).get("simulate"));

const jsPsych: JsPsych = initJsPsych({
  display_element: main,
  on_trial_start: () => {
    main.tabIndex = -1; // jsPsych focuses it so that keys arrive; it need not be a stop of the tab key
  },
});
const bar = new StudyBar(main, createLeaveDialog(withdraw));
const outbox = new Outbox(
  (status) => bar.showSaveStatus(status),
  () => timelineRuns && jsPsych.abortExperiment(), // whatever came after a refused response would be refused too
);
const frameInterval_ms = measureFrameInterval_ms();

let timelineRuns = false;
/** How the participant left before the end, if so. */
let left: "declined" | "withdrawn" | null = null;

window.addEventListener("beforeunload", (event) => {
  if (outbox.unsent > 0 && outbox.rejection === null) event.preventDefault();
});
// Trials take keys while the focus is in <main>; a click beside everything must not silence them.
document.addEventListener("click", () => {
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
});
ignoreHeldKeysOnButtons();
start().catch(showFailure);

async function start(): Promise<void> {
  showWaiting(main, say("connecting"));
  const study = await reach(api.study);
  document.title = study.title;
  document.documentElement.lang = study.language;

  const session = await savedSession();
  if (session?.status === "completed") return showCompletion(main, session);
  if (session?.status === "withdrawn") return showEnd(main, say("withdrawn_title"), say("withdrawn"));
  // The notice is for people: a simulation takes nobody's place.
  if (!session && study.notice !== null && !askedSimulation) return showNotice(main, study.title, study.notice);

  main.replaceChildren();
  // A person's session is never taken over by a program, whatever the address asks for.
  const simulation = session?.kind === "human" ? null : askedSimulation;
  const timeline: Timeline = session ? await sessionTimeline(study, session) : [];
  if (!session) {
    const kind = simulation ? "simulated" : "human";
    timeline.push(consent(study, kind, (begun) => timeline.push(...begun)));
  }
  timelineRuns = timeline.length > 0;
  if (timelineRuns) await (simulation ? jsPsych.simulate(timeline, simulation) : jsPsych.run(timeline));
  timelineRuns = false;

  bar.hide();
  if (outbox.rejection !== null) throw outbox.rejection;
  if (left === "declined") return showEnd(main, say("declined_title"), say("declined"));
  if (left === "withdrawn") return showEnd(main, say("withdrawn_title"), say("withdrawn"));
  showWaiting(main, say("sending_last"));
  await outbox.drain();
  showCompletion(main, await reach(api.complete));
}

function showFailure(error: unknown): void {
  bar.hide();
  bar.hideSaveStatus();
  const message = messageOf(error);
  if (error instanceof NoEntry) showNotice(main, document.title, message);
  else if (isElsewhere(error)) showElsewhere(main, message, outbox.unsent);
  else if (error === outbox.rejection) showNotSaved(main, message);
  else showError(main, message);
}

/** This browser's session, or null when there is none for whoever sits here. */
async function savedSession(): Promise<Session | null> {
  try {
    const session = await reach(api.findSession);
    if (session?.kind === "simulated" && !askedSimulation) return null; // a program's session is no person's
    return session && (await caughtUp(session));
  } catch (error) {
    // Somebody else has the place now; but what was answered before is worth as much as ever.
    if (error instanceof NoEntry) outbox.drain().catch(() => {});
    throw error;
  }
}

/** A session once the server has every response that an earlier visit with this browser left in the outbox. */
async function caughtUp(session: Session): Promise<Session> {
  const { session: name, status, next_trial_index } = session;
  outbox.drop((response) => status !== "active" || response.session !== name || response.trial_index < next_trial_index);
  if (outbox.unsent === 0) return session;
  showWaiting(place(), say("sending_earlier"));
  await outbox.drain();
  return reach(api.session);
}

/** Asks for consent. Only then is there a session, whose timeline `onBegun` receives; jsPsych takes trials added while it runs. */
function consent(study: Study, kind: SessionKind, onBegun: (timeline: Timeline) => void): TrialDescription {
  const start_id = uuid4();
  return {
    type: PagePlugin,
    pages: [study.consent_html],
    buttons: [
      { id: "consent-agree", label: say("agree") },
      { id: "consent-decline", label: say("decline") },
    ],
    on_finish: async ({ button }: PageData) => {
      if (button === "consent-decline") {
        left = "declined";
        return;
      }
      showWaiting(place(), say("connecting"));
      const session = await reach(() => api.startSession(start_id, study.consent_digest, kind));
      onBegun(await sessionTimeline(study, await caughtUp(session)));
    },
  };
}

async function sessionTimeline(study: Study, session: Session): Promise<Timeline> {
  const { trials, next_trial_index } = session;
  const frame_ms = await frameInterval_ms;
  bar.show();
  const toCome = trials.slice(next_trial_index).map((trial) => sessionTrial(trial, session, frame_ms));
  if (next_trial_index === 0) return [...instructions(study.instructions_html), ...toCome];
  return toCome.length > 0 ? [welcomeBack(next_trial_index, trials.length), ...toCome] : [];
}

function instructions(pages: string[]): Timeline {
  return pages.length > 0 ? [{ type: PagePlugin, pages, buttons: [{ id: "page-next", label: say("begin") }] }] : [];
}

function welcomeBack(answered: number, total: number): TrialDescription {
  return { type: PagePlugin, pages: [`<h1>${say("welcome_back_title")}</h1><p>${say("welcome_back", { answered, total })}</p>`] };
}

function sessionTrial(trial: SessionTrial, { session, trials, fixation_ms }: Session, frame_ms: number): TrialDescription {
  const practiceEnds = trial.phase === "practice" && trials[trial.trial_index + 1]?.phase !== "practice";
  return {
    type: trial.task === "multiple_choice" ? MultipleChoicePlugin : BlackboxPredictPlugin,
    ...trial.content,
    fixation_ms,
    frame_ms,
    feedback_note: practiceEnds ? say("last_practice") : "",
    on_load: () => bar.showTrial(trial, trials),
    on_response: (data: TrialData<number | string>): Promise<Feedback | null> => {
      const feedback = outbox.add({ response_id: uuid4(), session, trial_index: trial.trial_index, ...data });
      return trial.phase === "practice" ? feedback : Promise.resolve(null);
    },
  };
}

async function withdraw(): Promise<void> {
  await api.withdraw();
  outbox.close();
  bar.hideSaveStatus();
  left = "withdrawn";
  jsPsych.abortExperiment();
}

/** A request to the server, repeated until it is reached and answers. */
function reach<T>(request: () => Promise<T>): Promise<T> {
  return retrying(request, (error) => showWaiting(place(), error instanceof ApiError ? say("busy") : say("unreachable")));
}

/** Where the participant looks: jsPsych's display while its timeline runs. */
function place(): HTMLElement {
  return timelineRuns ? jsPsych.getDisplayElement() : main;
}

function simulationMode(asked: string | null): "data-only" | "visual" | null {
  return asked === "data-only" || asked === "visual" ? asked : null;
}

function messageOf(error: unknown): string {
  if (!(error instanceof ApiError || error instanceof NoEntry)) console.error(error);
  return error instanceof Error ? error.message : String(error);
}

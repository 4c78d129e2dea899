/**
 * The participant's way through a study: consent, instructions, trials, completion code.
 *
 * The server knows how far a session has come, so a reload at any point goes on where the participant was.
 * `?simulate=data-only` or `?simulate=visual` lets jsPsych's simulation mode take the participant's part.
 *
 * Ids and attributes that tests may rely on: #consent-agree, #consent-decline, #page-next, #page-back, #fixation,
 * #stimulus, [data-option="2"], [data-port="west-5"], [data-answer="absorbed"], [data-answer="reflected"], #submit-answer,
 * #feedback-continue, #leave-study, #leave-confirm, #completion-code, #save-status, #progress.
 */
import { initJsPsych, type JsPsych } from "jspsych";
import { api, ApiError, type Feedback, type Session, type SessionKind, type SessionTrial, type Study } from "./api";
import { measureFrameInterval_ms } from "./fixation";
import { showCompletion, showEnd, showError, showNotSaved, showWaiting } from "./notices";
import { Outbox, uuid4 } from "./outbox";
import BlackboxPredictPlugin from "./plugins/blackbox-predict";
import MultipleChoicePlugin from "./plugins/multiple-choice";
import PagePlugin, { type PageData } from "./plugins/page";
import { retrying } from "./retry";
import { ignoreHeldKeysOnButtons } from "./rt";
import type { TrialData } from "./run-trial";
import { createLeaveDialog, StudyBar } from "./study-bar";
import { texts } from "./texts";

type Timeline = Extract<Parameters<JsPsych["run"]>[0], unknown[]>;
type TrialDescription = Timeline[number];

const main = document.getElementById("jspsych")!;
const askedSimulation = simulationMode(new URLSearchParams(location.search).get("simulate"));

const jsPsych: JsPsych = initJsPsych({
  display_element: main,
  on_trial_start: () => {
    main.tabIndex = -1; // jsPsych focuses it so that keys arrive; it need not be a stop of the tab key
  },
});
const bar = new StudyBar(main, createLeaveDialog(withdraw));
const outbox = new Outbox(
  (status) => bar.showSaveStatus(status),
  () => jsPsych.abortExperiment(), // whatever came after a refused response would be refused too
);
const frameInterval_ms = measureFrameInterval_ms();

/** How the participant left before the end, if so. */
let left: "declined" | "withdrawn" | null = null;

window.addEventListener("beforeunload", (event) => {
  if (outbox.unsent > 0) event.preventDefault();
});
// Trials take keys while the focus is in <main>; a click beside everything must not silence them.
document.addEventListener("click", () => {
  if (document.activeElement === document.body) main.focus({ preventScroll: true });
});
ignoreHeldKeysOnButtons();
start().catch((error) => {
  bar.hide();
  (error === outbox.rejection ? showNotSaved : showError)(main, messageOf(error));
});

async function start(): Promise<void> {
  showWaiting(main, texts.connecting);
  const study = await reach(api.study);
  document.title = study.title;
  document.documentElement.lang = study.language;

  const session = await savedSession();
  if (session?.status === "completed") return showCompletion(main, session);
  if (session?.status === "withdrawn") return showEnd(main, texts.withdrawnTitle, texts.withdrawn);

  main.replaceChildren();
  // A person's session is never taken over by a program, whatever the address asks for.
  const simulation = session?.kind === "human" ? null : askedSimulation;
  const timeline: Timeline = session ? await sessionTimeline(study, session) : [];
  if (!session) {
    const kind = simulation ? "simulated" : "human";
    timeline.push(consent(study, kind, (begun) => timeline.push(...begun)));
  }
  if (timeline.length > 0) await (simulation ? jsPsych.simulate(timeline, simulation) : jsPsych.run(timeline));

  bar.hide();
  if (outbox.rejection !== null) throw outbox.rejection;
  if (left === "declined") return showEnd(main, texts.declinedTitle, texts.declined);
  if (left === "withdrawn") return showEnd(main, texts.withdrawnTitle, texts.withdrawn);
  showWaiting(main, texts.sendingLast);
  await outbox.drain();
  showCompletion(main, await retrying(api.complete, () => showWaiting(main, texts.unreachable)));
}

/** This browser's session, once the server has every response that an earlier visit left in the outbox. */
async function savedSession(): Promise<Session | null> {
  const session = await reach(api.session);
  if (session?.kind === "simulated" && !askedSimulation) return null; // a program's session is no person's
  if (session?.status !== "active") return session;
  outbox.drop((response) => response.session !== session.session || response.trial_index < session.next_trial_index);
  if (outbox.unsent === 0) return session;
  showWaiting(main, texts.sendingEarlier);
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
      { id: "consent-agree", label: texts.agree },
      { id: "consent-decline", label: texts.decline },
    ],
    on_finish: async ({ button }: PageData) => {
      if (button === "consent-decline") {
        left = "declined";
        return;
      }
      showWaiting(jsPsych.getDisplayElement(), texts.connecting);
      const session = await reach(() => api.startSession(start_id, study.consent_digest, kind));
      outbox.drop((response) => response.session !== session.session);
      onBegun(await sessionTimeline(study, session));
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
  return pages.length > 0 ? [{ type: PagePlugin, pages, buttons: [{ id: "page-next", label: texts.begin }] }] : [];
}

function welcomeBack(answered: number, total: number): TrialDescription {
  return { type: PagePlugin, pages: [`<h1>${texts.welcomeBackTitle}</h1><p>${texts.welcomeBack(answered, total)}</p>`] };
}

function sessionTrial(trial: SessionTrial, { session, trials, fixation_ms }: Session, frame_ms: number): TrialDescription {
  const practiceEnds = trial.phase === "practice" && trials[trial.trial_index + 1]?.phase !== "practice";
  return {
    type: trial.task === "multiple_choice" ? MultipleChoicePlugin : BlackboxPredictPlugin,
    ...trial.content,
    fixation_ms,
    frame_ms,
    feedback_note: practiceEnds ? texts.lastPractice : "",
    on_start: () => bar.showTrial(trial, trials),
    on_response: (data: TrialData<number | string>): Promise<Feedback | null> => {
      const { response, rt_ms, fixation_ms, fixation_frames, shown_at, frames_dropped, focus_lost } = data;
      const timing = { rt_ms, fixation_ms, fixation_frames, shown_at, frames_dropped, focus_lost };
      const feedback = outbox.add({ response_id: uuid4(), session, trial_index: trial.trial_index, response, ...timing });
      return trial.phase === "practice" ? feedback : Promise.resolve(null);
    },
  };
}

async function withdraw(): Promise<void> {
  await api.withdraw();
  outbox.close();
  left = "withdrawn";
  jsPsych.abortExperiment();
}

/** A request to the server, repeated until it is reached. */
function reach<T>(request: () => Promise<T>): Promise<T> {
  const place = jsPsych.getDisplayElement() ?? main;
  return retrying(request, () => showWaiting(place, texts.unreachable));
}

function simulationMode(asked: string | null): "data-only" | "visual" | null {
  return asked === "data-only" || asked === "visual" ? asked : null;
}

function messageOf(error: unknown): string {
  if (!(error instanceof ApiError)) console.error(error);
  return error instanceof Error ? error.message : String(error);
}

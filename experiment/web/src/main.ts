/** A participant's session: device, information, consent, instructions, trials, end.
 *
 * The server stores the progress of a session, so that the participant can resume at the same point after a reload.
 * `#simulate=data-only&token=...` or `#simulate=visual&token=...` starts jsPsych's simulation mode, in which a program
 * gives the responses. The server requires the researcher's token for a simulated session. The client removes the token
 * from the address at once. The mode and the token come after the `#`. Browsers never send this part of the address.
 *
 * Tests may rely on these ids and attributes: #device-try-again, #keyboard-check, #keyboard-none, #consent-agree,
 * #consent-decline, #page-next, #page-back, #question-<name>, #demographics-done, #fullscreen-go, #fixation, #stimulus,
 * [data-option="2"], [data-port="west-5"], [data-response="absorbed"], [data-response="reflected"], #submit-response, #time-
 * hints, #feedback-continue, #show-rules, #rules-dialog, #show-contact, #contact-dialog, #leave-study, #leave-confirm, #save-status, #progress,
 * #notice, #sound-check, #sound-play, [data-tones="3"], #sound-none, #calibration, #card-size, #calibration-done,
 * #calibration-none, #distance-done. The end pages are #declined, #incompatible, #withdrawn, #ended and #completed. An end page can have
 * #completion-code, #exit-code, #exit-link, #withdrawal-code and #withdraw-link.
 */
import { initJsPsych, type JsPsych } from "jspsych";
import { api, ApiError, ContinuedElsewhere, type Ended, isElsewhere, NoEntry, type Session, type Study } from "./saving/server-api";
import { entrance } from "./entrance";
import { forgetBegun } from "./saving/trial-attempts";
import { deviceFound, frames, isPhone, untilDeviceFits } from "./pages/device-check";
import { showCompletion, showDeclined, showEnded, showWithdrawn, showWrongDevice } from "./pages/end-pages";
import { loadPlugins } from "./plugins/published-plugins";
import { showElsewhere, showError, showNotice, showNotSaved, showWaiting } from "./pages/notices";
import { Outbox } from "./saving/outbox";
import { retrying } from "./saving/retry";
import { ignoreHeldKeysOnButtons } from "./timing/input-events";
import { calibrate, forgetScreen } from "./pages/calibration";
import { leaveFullscreen, sessionTimeline, type Timeline } from "./session-timeline";
import { createLeaveDialog, StudyBar } from "./pages/study-bar";
import { say } from "./pages/texts";
import { uuid4 } from "./saving/uuid";

const main = document.getElementById("jspsych")!;
const asked = new URLSearchParams(location.hash.slice(1));
const askedSimulation = simulationMode(asked.get("simulate"));
const researcherToken = askedSimulation && asked.get("token");
if (researcherToken !== null) history.replaceState(history.state, "", `#simulate=${askedSimulation}`);

/** State of the browser's history while a study is running. */
const IN_STUDY = "study";

const jsPsych: JsPsych = initJsPsych({
  display_element: main,
  on_trial_start: () => {
    main.tabIndex = -1; // jsPsych can focus <main> to receive keys, but the tab key skips <main>
  },
});
const bar = new StudyBar(main, createLeaveDialog(withdraw));
const outbox = new Outbox(
  (status) => bar.showSaveStatus(status),
  () => timelineRuns && jsPsych.abortExperiment(), // the server would refuse all later responses too
  () => bar.showTooLarge(),
);

/** The contact page; null before the server has sent it. */
let contact_html: string | null = null;
let timelineRuns = false;
/** Shows the end of a session that ended before all questions were answered. */
let showEarlyEnd: (() => void) | null = null;

window.addEventListener("beforeunload", (event) => {
  if (outbox.unsent > 0 && outbox.rejection === null) event.preventDefault();
});
// The keys of a question act only while the focus is in the question (WCAG 2.1.4). A click beside the question must not
// take the focus away.
document.addEventListener("click", () => {
  if (document.activeElement === document.body) (document.getElementById("stimulus") ?? main).focus({ preventScroll: true });
});
// The browser's Back button would lose the trial on the screen. Participants leave with the page's own button.
window.addEventListener("popstate", () => timelineRuns && history.pushState(IN_STUDY, ""));
// A page from the browser's cache can be out of date, so reload it.
window.addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
ignoreHeldKeysOnButtons();
start().catch(showFailure);

async function start(): Promise<void> {
  await outbox.restore();
  // Until the server replies, the page shows the words that the server has written into it.
  const [study, found] = await Promise.all([reach(api.study), savedSession()]);
  document.title = study.title;
  contact_html = study.contact_html;
  if (!study.returns_cookies) return showNotice(main, study.title, say("cookies_blocked"), contact_html);
  if (found && found.status !== "active") return showEndOf(found);
  if (contact_html !== null) bar.offerContact(contact_html);
  // These checks are for people only: a simulation uses no participant's slot, and has no screen.
  if (!askedSimulation) {
    if (!found && study.notice !== null) {
      bar.end();
      return showNotice(main, study.title, study.notice, contact_html);
    }
    if (found && isPhone() && !study.device.phones) return showWrongDevice(main);
    if (!found) await untilDeviceFits(main, study.device, study.exits.incompatible_device);
  }
  const session = found && (await comeBack(study));
  if (session && session.status !== "active") return showEndOf(session);

  main.replaceChildren();
  // A simulation never continues a person's session, even if the address asks for one.
  const simulation = session?.kind === "human" ? null : askedSimulation;
  const timeline: Timeline = session ? await timelineOf(study, session) : [];
  if (!session) {
    const kind = simulation ? "simulated" : "human";
    const onDeclined = () => {
      showEarlyEnd = () => showDeclined(main, study.exits.no_consent, contact_html);
    };
    const onStarted = async (started: Session) => {
      const current = (await sendEarlier(started)) ? await reach(api.session) : started;
      // jsPsych accepts trials that are added while its timeline runs.
      if (current.status === "active") timeline.push(...(await timelineOf(study, current)));
      else showEarlyEnd = () => showEndOf(current);
    };
    timeline.push(entrance(study, { kind, researcherToken, container, reach, onDeclined, onStarted }));
  }
  timelineRuns = timeline.length > 0;
  if (timelineRuns) await (simulation ? jsPsych.simulate(timeline, simulation) : jsPsych.run(timeline));
  timelineRuns = false;

  leaveStage();
  if (outbox.rejection !== null) throw outbox.rejection;
  if (showEarlyEnd) return showEarlyEnd();
  showWaiting(main, say("sending_last"));
  await outbox.drain();
  const completion = await reach(api.complete);
  forgetSession();
  showCompletion(main, completion, outbox.tooLarge);
}

function leaveStage(): void {
  bar.end();
  leaveFullscreen();
}

function showFailure(error: unknown): void {
  leaveStage();
  bar.hideSaveStatus();
  const message = messageOf(error);
  if (error instanceof NoEntry) showNotice(main, document.title, message, contact_html);
  else if (isElsewhere(error) || error instanceof ContinuedElsewhere) showElsewhere(main, message, outbox.unsent);
  else if (error === outbox.rejection) showNotSaved(main, message, contact_html);
  else showError(main, message, contact_html);
}

/** Shows the end page of a session that is over. */
function showEndOf(session: Session): void {
  forgetSession();
  if (session.status === "completed") showCompletion(main, session);
  else if (session.status === "ended") showEnded(main, session);
  else showWithdrawn(main, contact_html);
}

/** Returns this browser's session, or null if the browser has no session of the participant. */
async function savedSession(): Promise<Session | null> {
  const session = await reach(api.findSession);
  if (!session || (session.kind === "simulated" && !askedSimulation)) return null; // a program began this session, not the participant
  await sendEarlier(session);
  return session;
}

/** Sends the responses that an earlier visit kept in this browser. Returns true if there were such responses. */
async function sendEarlier({ session: name, status, next_trial_index }: Session): Promise<boolean> {
  outbox.drop((response) => status !== "active" || response.session !== name || response.trial_index < next_trial_index);
  if (outbox.unsent === 0) return false;
  showWaiting(container(), say("sending_earlier"));
  await outbox.drain();
  return true;
}

/** Reports a new visit to the session. The server decides by the study's rules how the session continues. */
async function comeBack({ device: needs }: Study): Promise<Session> {
  const visit_id = uuid4();
  if (!askedSimulation) await calibrate(main, needs);
  const device = await deviceFound();
  return reach(() => api.visit(visit_id, device));
}

async function timelineOf(study: Study, session: Session): Promise<Timeline> {
  await frames.known();
  const plugins = await reach(() => loadPlugins(study.plugins));
  bar.offerLeaving();
  if (history.state !== IN_STUDY) history.pushState(IN_STUDY, "");
  const onEnded = (ended: Ended) => {
    showEarlyEnd = () => {
      forgetSession();
      showEnded(main, ended);
    };
  };
  const onFailure = (error: unknown) => {
    showEarlyEnd = () => showFailure(error);
    jsPsych.abortExperiment();
  };
  return sessionTimeline(study, session, { jsPsych, bar, outbox, frames, plugins, reach, onEnded, onFailure });
}

async function withdraw(): Promise<void> {
  await api.withdraw();
  outbox.close();
  bar.hideSaveStatus();
  forgetSession();
  showEarlyEnd = () => showWithdrawn(main, contact_html);
  jsPsych.abortExperiment();
}

/** Sends a request to the server, and repeats the request until the server replies. */
function reach<T>(request: () => Promise<T>): Promise<T> {
  return retrying(request, (error) => showWaiting(container(), error instanceof ApiError ? say("busy") : say("unreachable")));
}

/** Returns the element with the page's content: jsPsych's display while its timeline runs, otherwise <main>. */
function container(): HTMLElement {
  return timelineRuns ? jsPsych.getDisplayElement() : main;
}

/** Forgets the attempts and the screen's measures, because the session is over. */
function forgetSession(): void {
  forgetBegun();
  forgetScreen();
}

function simulationMode(asked: string | null): "data-only" | "visual" | null {
  return asked === "data-only" || asked === "visual" ? asked : null;
}

function messageOf(error: unknown): string {
  if (!(error instanceof ApiError || error instanceof NoEntry)) console.error(error);
  return error instanceof Error ? error.message : String(error);
}

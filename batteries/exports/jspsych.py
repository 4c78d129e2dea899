"""Export to jsPsych 8 (https://www.jspsych.org): a page that runs the battery, and a separate file of answer keys.

The files for the web server are in the folder `public/`. They contain no answer keys, and need only the package
`jspsych`. A plugin for the trials is part of the page, because a plugin of jsPsych accepts either keyboard keys or
buttons, not both.

Sources
-------
- Plugins: https://www.jspsych.org/v8/developers/plugin-development/
- Timeline variables and random order: https://www.jspsych.org/latest/overview/timeline/
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from string import Template

from batteries.exports import KEYS_FILE, ExportedTrial, group_names, keys_csv, provenance, trials_by_group
from batteries.items import Battery

JSPSYCH_VERSION = "8.3.0"
"""Version of the npm package `jspsych` for which the page was tested. The web client uses the same version."""


def jspsych_files(
    battery: Battery,
    groups: Mapping[str, int],
    practice: Sequence[str],
    attention_checks: Sequence[str],
    fixation_ms: int,
    title: str,
) -> dict[str, str]:
    """Return the experiment (`public/...`), `keys.csv`, and `jspsych-how-to.md` with the instructions to run it.

    The trials are written as JavaScript files, one file per group, because a page that is opened as a local file cannot
    load JSON files. A participant's browser loads only the file of the participant's group.

    Parameters
    ----------
    battery
        The battery; all its items must be multiple choice.
    groups
        The group (from 1) of each test item, by item id. If empty, all items are in group 1.
    practice, attention_checks
        Ids of the items that every group sees.
    fixation_ms
        Duration of the fixation cross in ms. The page rounds this duration to whole frames of the display.
    title
        Title of the page, which is also the heading of the first screen.

    Raises
    ------
    InputError
        If an item is not a valid multiple-choice question or has no group.
    """
    trials = trials_by_group(battery, groups, practice, attention_checks)
    names = group_names(trials)
    files = {
        f"public/trials-group-{names[group]}.js": _script(battery, group, in_group, fixation_ms)
        for group, in_group in trials.items()
    }
    files["public/experiment.html"] = Template(_PAGE).substitute(
        title=escape(title), groups=" ".join(names.values()), version=JSPSYCH_VERSION
    )
    files["public/experiment.js"] = _EXPERIMENT
    files[KEYS_FILE] = keys_csv(trials)
    files["jspsych-how-to.md"] = Template(_HOW_TO).substitute(
        provenance=provenance(battery), version=JSPSYCH_VERSION, n_groups=len(names), keys=KEYS_FILE
    )
    return files


def _script(battery: Battery, group: int, trials: Sequence[ExportedTrial], fixation_ms: int) -> str:
    """Return the trials of a group as JavaScript.

    The file does not contain the battery's digest. The digest depends on the answer keys, so a participant could use
    the digest to test guesses about the keys.
    """
    content = {
        "battery": battery.battery,
        "battery_version": battery.version,
        "group": group,
        "fixation_ms": fixation_ms,
        "practice": [_shown(trial) for trial in trials if trial.phase == "practice"],
        "trials": [_shown(trial) for trial in trials if trial.phase != "practice"],
    }
    return f"window.groupTrials = {json.dumps(content, ensure_ascii=False, indent=1)};\n"


def _shown(trial: ExportedTrial) -> dict[str, object]:
    """Return the fields of a trial that a participant may see."""
    content = trial.content
    return {
        "item_id": trial.item.item_id,
        "phase": trial.phase,
        "text": content["text"],
        "prompt": content["prompt"],
        "options": content["options"],
    }


_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<!-- jsPsych is in the folder jspsych/ next to this page: the files dist/index.browser.min.js and css/jspsych.css of the
     npm package `jspsych`, version $version or a later 8.x. The page loads nothing from other servers. -->
<link rel="stylesheet" href="jspsych/jspsych.css">
<style>
  body { margin: 0; font-family: "Open Sans", Arial, sans-serif; font-size: 18px; line-height: 1.6; color: #111; }
  main { min-height: 100vh; }
  #start, .stimulus, .end { box-sizing: border-box; max-width: 44rem; margin: 0 auto; padding: 2rem 1rem; }
  /* Spaces and line breaks are shown as written, because a study can vary their number. */
  .stimulus { width: min(44rem, 100vw); text-align: left; white-space: pre-wrap; }
  .stimulus h1 { font-size: 1.1em; }
  .options { list-style: none; margin: 0; padding: 0; }
  .options button { display: flex; gap: 0.75em; width: 100%; margin: 0.4em 0; padding: 0.5em 0.75em; font: inherit;
    color: inherit; text-align: left; white-space: pre-wrap; background: #fff; border: 1px solid #767676;
    border-radius: 4px; cursor: pointer; }
  .options button:hover { background: #eef3fa; }
  .options .number { font-weight: bold; }
  .fixation { font-size: 2rem; }
  #start button { padding: 0.5em 1.5em; font: inherit; cursor: pointer; }
</style>
</head>
<body data-groups="$groups">
<main id="experiment">
<div id="start">
<h1>$title</h1>
<p id="message">On each page, read the text and answer the question below the text. Press the number of your answer, or
click the answer. A small cross appears before each page. Please do not leave or reload this page before the end,
because your answers would be lost.</p>
<button id="begin" type="button" disabled>Begin</button>
</div>
</main>
<script src="jspsych/index.browser.min.js"></script>
<script src="experiment.js"></script>
</body>
</html>
"""

# A plain script, not a module: browsers load no modules from a disk.
_EXPERIMENT = """\
// Runs one group's trials on jsPsych 8: practice first, then all others in random order.
"use strict";

// Saves the answers. As written, the browser saves the answers as a file at the end. To collect the answers on a
// server, send data.json() in this function. On JATOS, write: return jatos.endStudy(data.json());
function saveAnswers(data, name) {
  data.localSave("json", name);
}

// Text is always inserted as text, never as HTML.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function refuse(message) {
  document.getElementById("message").textContent = message;
  throw new Error(message);
}

if (!window.jsPsychModule) {
  refuse("jsPsych is missing: put index.browser.min.js and jspsych.css into the folder jspsych/ next to this page.");
}
const { ParameterType } = jsPsychModule;

const nextFrame = () => new Promise(requestAnimationFrame);

// Shows the cross for the frames of the display nearest to fixation_ms, then the stimulus in the very next frame.
// Times are the time stamps of the frames, on the same clock as event.timeStamp. A timer can be late by up to a frame.
async function showAfterFixation(display, stimulus, fixation_ms) {
  await nextFrame(); // the first frame after a pause can have an old time stamp
  const start = await nextFrame();
  if (fixation_ms > 0) display.replaceChildren(element("div", { class: "fixation", "aria-hidden": "true" }, "+"));
  window.scrollTo(0, 0);
  let onset = start;
  let frames = 0;
  const half_frame = () => (frames ? (onset - start) / frames / 2 : 0);
  while (fixation_ms - (onset - start) > half_frame()) {
    onset = await nextFrame();
    frames++;
  }
  display.replaceChildren(stimulus);
  return { onset, fixation_ms: onset - start };
}

// Shows a text, a question and numbered options. A number key, a click or a tap answers at once.
class MultipleChoicePlugin {
  static info = {
    name: "equipoise-multiple-choice",
    version: "1.0.0",
    parameters: {
      // The text above the question, which may be empty. Blank lines separate paragraphs.
      text: { type: ParameterType.STRING, default: "" },
      prompt: { type: ParameterType.STRING, default: undefined },
      options: { type: ParameterType.STRING, array: true, default: undefined },
      fixation_ms: { type: ParameterType.INT, default: 200 },
    },
    data: {
      // The number of the chosen option, from 1.
      response: { type: ParameterType.INT },
      // In ms, from the time stamp of the frame that shows the stimulus to the time stamp of the key press or click.
      rt: { type: ParameterType.FLOAT },
      // The measured duration of the cross, in ms.
      fixation_ms: { type: ParameterType.FLOAT },
    },
  };

  constructor(jsPsych) {
    this.jsPsych = jsPsych;
  }

  async trial(display, trial, on_load) {
    const buttons = trial.options.map((option, index) => {
      const number = element("span", { class: "number" }, `${index + 1}`);
      return element("button", { type: "button" }, number, element("span", {}, option));
    });
    const paragraphs = trial.text.split(/\\n\\s*\\n/).filter((paragraph) => paragraph.trim() !== "");
    const stimulus = element(
      "div",
      { class: "stimulus" },
      ...paragraphs.map((paragraph) => element("p", {}, paragraph)),
      element("h1", {}, trial.prompt),
      element("ol", { class: "options" }, ...buttons.map((button) => element("li", {}, button))),
    );
    on_load();
    const { onset, fixation_ms } = await showAfterFixation(display, stimulus, trial.fixation_ms);
    const answer = await new Promise((resolve) => {
      const listeners = new AbortController();
      const answered = (event, response) => {
        // An event before the onset does not answer this stimulus.
        if (event.timeStamp < onset || !buttons[response - 1]) return;
        listeners.abort();
        resolve({ response, rt: event.timeStamp - onset });
      };
      const { signal } = listeners;
      document.addEventListener(
        "keydown",
        (event) => {
          const isHeld = event.repeat || event.ctrlKey || event.altKey || event.metaKey;
          if (!isHeld && /^[1-9]$/.test(event.key)) answered(event, Number(event.key));
        },
        { signal },
      );
      buttons.forEach((button, index) =>
        button.addEventListener("click", (event) => answered(event, index + 1), { signal }),
      );
    });
    return { ...answer, fixation_ms };
  }
}

function run({ battery, battery_version, group, fixation_ms, practice, trials }) {
  const askBeforeLeaving = (event) => event.preventDefault();
  window.addEventListener("beforeunload", askBeforeLeaving);
  const jsPsych = initJsPsych({
    display_element: "experiment",
    on_finish: async (data) => {
      await saveAnswers(data, `answers-group-${group}-${participant}.json`);
      window.removeEventListener("beforeunload", askBeforeLeaving);
      const end = element("p", { class: "end" }, "That was the last question. Thank you!");
      jsPsych.getDisplayElement().replaceChildren(end);
    },
  });
  const participant = address.get("participant") || jsPsych.randomization.randomID(8);
  jsPsych.data.addProperties({ battery, battery_version, group, participant });
  const block = (shown, randomize_order) => ({
    timeline: [
      {
        type: MultipleChoicePlugin,
        text: jsPsych.timelineVariable("text"),
        prompt: jsPsych.timelineVariable("prompt"),
        options: jsPsych.timelineVariable("options"),
        fixation_ms,
        data: { item_id: jsPsych.timelineVariable("item_id"), phase: jsPsych.timelineVariable("phase") },
      },
    ],
    timeline_variables: shown,
    randomize_order,
  });
  const blocks = [block(practice, false), block(trials, true)];
  jsPsych.run(blocks.filter(({ timeline_variables }) => timeline_variables.length > 0));
}

// The address names group and participant: experiment.html?group=2&participant=P07. Without a participant, the page
// makes a random pseudonym.
const address = new URLSearchParams(window.location.search);
const groups = document.body.dataset.groups.split(" ");
const group = groups.find((name) => Number(name) === Number(address.get("group")));
if (!group) refuse(`Please add your group to the address of this page, such as ?group=${Number(groups[0])}.`);

const script = element("script", { src: `trials-group-${group}.js` });
script.addEventListener("error", () => refuse(`The file trials-group-${group}.js is missing.`));
script.addEventListener("load", () => {
  const begin = document.getElementById("begin");
  begin.disabled = false;
  begin.focus();
  begin.addEventListener("click", () => {
    document.getElementById("start").remove();
    run(window.groupTrials);
  });
});
document.body.append(script);
"""

_HOW_TO = """\
# Running this battery with jsPsych

$provenance

1. Put jsPsych into the folder `public/jspsych/`: the files `dist/index.browser.min.js` and `css/jspsych.css` of the npm
   package `jspsych`, version $version or a later 8.x. `npm pack jspsych@$version` downloads the package. The page loads
   nothing from other servers.
2. Try it: open `public/experiment.html?group=1` in a browser.
3. Put the folder `public/`, and nothing else, on your web server or JATOS. The files in this folder contain no
   answer keys. Do not upload `$keys` or this file.
4. The page does not contain consent, instructions, debriefing or a way to withdraw. Add these pages yourself. Practice
   trials give no feedback, because the page does not contain the keys.
5. Send each participant to `experiment.html?group=G&participant=P`, with G from 1 to $n_groups, equally often. P is a
   pseudonym that you choose. Without a pseudonym, the page makes a random pseudonym.
6. The answers are in the page until the end. Then the browser saves the answers as a JSON file. The answers of a
   participant who leaves before the end are lost. To send the answers to your server instead, change the function
   `saveAnswers` in `public/experiment.js`.
7. Score: join the answers to `$keys` by `item_id`; an answer is right if `response` equals `key`. `rt` is the
   response time in ms from the frame that shows the text. `fixation_ms` is the measured duration of the cross.
"""

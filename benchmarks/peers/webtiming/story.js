/** The screens of a trial as HTML, the same at each peer. */
const items = await (await fetch("items.json")).json();

export const FIXATION = '<div id="fixation" style="font-size: 3rem">+</div>';

export const STORIES = items.map(
  ({ text, prompt, options }) => `
    <div id="stimulus">
      <p>${text}</p>
      <p><strong>${prompt}</strong></p>
      <ol>${options.map((option) => `<li>${option}</li>`).join("")}</ol>
    </div>`,
);

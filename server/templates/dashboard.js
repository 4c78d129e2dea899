// Keeps the dashboard up to date by server-sent events, computes the cost, and copies messages. Without this script, the
// page reloads every 30 seconds.
const live = document.getElementById("live");
const connection = document.getElementById("connection");

function show(html) {
  const next = new DOMParser().parseFromString(html, "text/html");
  for (const element of live.querySelectorAll("[data-live]")) {
    const other = next.getElementById(element.id);
    // Only changed parts are replaced, so that open tables, the focus and the place in a scrolled table stay.
    if (other !== null && other.innerHTML !== element.innerHTML) element.innerHTML = other.innerHTML;
  }
  showCost();
}

function say(text) {
  if (connection.textContent !== text) connection.textContent = text;
}

function watch() {
  const source = new EventSource("/researcher/live");
  source.onmessage = (event) => {
    show(JSON.parse(event.data));
    say("Live: the numbers change by themselves.");
  };
  source.onerror = () => {
    say("No connection to the server. The numbers are not up to date.");
    if (source.readyState === EventSource.CLOSED) setTimeout(watch, 10000); // The server refused, for instance for a restart.
  };
  source.addEventListener("end", () => {
    source.close();
    location.reload(); // The sign-in has ended.
  });
  addEventListener("pagehide", () => source.close());
}

function showCost() {
  const field = document.getElementById("payment");
  const numbers = document.getElementById("cost-data").dataset;
  const payment = Number(field.value.replace(",", "."));
  const text = (n) => (n * payment).toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const isNumber = field.value.trim() !== "" && Number.isFinite(payment) && payment >= 0;
  const ofQuota = numbers.quota ? `, ${text(Number(numbers.quota))} for the whole quota` : "";
  const sentence = isNumber
    ? `Cost without fees: ${text(Number(numbers.completed))} for the completed sessions${ofQuota}.`
    : "Write the payment to see the cost. The page does not store it.";
  const output = document.getElementById("cost");
  if (output.textContent !== sentence) output.textContent = sentence;
}

if (live !== null) {
  live.querySelector(".cost").hidden = false;
  document.getElementById("payment").addEventListener("input", showCost);
  showCost();
  watch();
}

for (const button of document.querySelectorAll(".copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copies);
    let isCopied = true;
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      field.select(); // Without HTTPS, browsers have no clipboard for scripts.
      isCopied = document.execCommand("copy");
    }
    button.nextElementSibling.textContent = isCopied ? "Copied." : "Not copied. Select the text and copy it.";
  });
}

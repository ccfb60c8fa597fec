// The desk's own script: it asks for cases, sends answers, and hears the keyboard.
"use strict";
const page = document.body.dataset.page;
const reader = document.body.dataset.reader;
const $ = (selector, within = document) => within.querySelector(selector);
const trouble = $("#trouble");

// Each window has a case of its own; a reload keeps it.
let own = sessionStorage.getItem("window");
if (!own) sessionStorage.setItem("window", (own = crypto.randomUUID()));
const asked = new URLSearchParams({ reader, window: own });

function say(problem) {
  trouble.textContent = problem;
  trouble.hidden = !problem;
}

async function ask(path, body) {
  let response;
  try {
    response = await fetch(path, body === undefined ? {} : {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  } catch {
    throw new Error("The desk does not answer: nothing was saved just now. Is it still running?");
  }
  if (response.headers.get("Content-Type").startsWith("text/html")) return response.text();
  const found = await response.json();
  if (!response.ok) throw Object.assign(new Error(found.error), { status: response.status });
  return found;
}

// -- cases ---------------------------------------------------------------------------------------

let busy = false; // no second answer before the next case is there

async function nextCase() {
  $("#case").innerHTML = await ask("/part/case?" + asked);
  $("#case h1").focus({ preventScroll: true });
  scrollTo(0, 0);
}

async function act(work) {
  if (busy) return;
  busy = true;
  say("");
  try {
    await work();
  } catch (error) {
    say(error.message);
    if (error.status === 409) await nextCase().catch(() => {});
  } finally {
    busy = false;
  }
}

const answer = (button) => act(async () => {
  const { row } = $("#case section").dataset;
  const { answer, label } = button.dataset;
  const said = await ask("/api/answer", { row: Number(row), answer, label, reader, window: own });
  await nextCase();
  $("#last").textContent = told(said);
  $("#last").dataset.agrees = said.answer === "label" && said.guess !== null ? said.guess === said.label : "";
});

function told(said) {
  const you = said.answer === "label" ? said.label : { "cannot tell": "can’t tell", "not shown": "not my case" }[said.answer];
  const sure = Math.round(100 * said.probability);
  const model = said.guess === null ? "The model had no guess yet."
    : said.guess === said.label ? `The model had guessed the same (${sure} %).`
    : `The model had guessed ${said.guess} (${sure} %).`;
  return `${said.id}: you said ${you}. ${said.answer === "not shown" ? "" : model}`;
}

const undo = () => act(async () => {
  const { undone } = await ask("/api/undo", { reader, window: own });
  await nextCase();
  $("#last").textContent = `${undone.id}: your answer is taken back.`;
  $("#last").dataset.agrees = "";
});

if (page === "Cases") {
  $("#case").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("undo" in button.dataset) undo();
    else answer(button);
  });
  document.addEventListener("keydown", (event) => {
    // a key held down must not answer the next case too
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest("input, select, textarea")) return;
    const key = event.key.toLowerCase();
    const button = key === "u" ? $("#case [data-undo]")
      : [...document.querySelectorAll("#case [data-key]")].find((b) => b.dataset.key === key);
    if (!button || button.disabled) return;
    event.preventDefault();
    button.click();
  });
  act(nextCase);
}

// -- what is learnt -------------------------------------------------------------------------------

if (page === "What is learnt") {
  let shown = "";
  const look = async () => {
    try {
      const state = JSON.stringify(await ask("/api/state?" + asked));
      if (state !== shown && !document.hidden) {
        const text = await ask("/part/report?" + asked);
        shown = state;
        $("#findings").innerHTML = text;
      }
      say("");
    } catch (error) {
      if (error.status !== 409) say(error.message);
    }
    setTimeout(look, 1500);
  };
  look();
}

// -- columns --------------------------------------------------------------------------------------

if (page === "Columns") {
  const form = $("#setup");
  const words = (name) => form[name].value.split(",").map((word) => word.trim()).filter(Boolean);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const taken = [form.label.value, form.id.value, form.show.value];
    const features = [...form.querySelectorAll("[name=features]:checked")]
      .map((box) => box.value).filter((name) => !taken.includes(name));
    try {
      await ask("/api/setup", {
        label: form.label.value, id: form.id.value || null, show: form.show.value || null, features,
        blank: words("blank"), classes: words("classes"), audit: form.audit.value / 100,
        withheld: form.withheld.value === "yes",
      });
      location.assign("/?" + new URLSearchParams({ reader }));
    } catch (error) {
      say(error.message);
    }
  });
}

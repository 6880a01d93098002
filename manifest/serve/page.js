// The page is whole without this. It makes the form of the slice answer at once, finds names in
// long lists, and copies what is to be pasted.
"use strict";
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const made = (name, properties) => Object.assign(document.createElement(name), properties);

for (const pre of all("pre")) {
  const text = pre.textContent.trimEnd();
  const button = made("button", { type: "button", textContent: "copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
  if (navigator.clipboard) pre.append(button);
}

const rows = all("table.names tbody tr");
if (rows.length > 12) {
  const box = made("input", { type: "search", placeholder: "find a name …", ariaLabel: "Find a name" });
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.cells[0].textContent.toLowerCase().includes(word));
  });
  document.querySelector("table.names").parentElement.before(box);
}

const form = document.querySelector("form");
const plot = document.querySelector("img.plot");
if (form && plot) {
  let waiting;
  const draw = () => {
    const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    history.replaceState(null, "", "?" + query);
    query.set("as", "svg");
    plot.src = plot.parentElement.href = "?" + query;
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(draw, 120); };
  plot.loading = "eager";
  // An image cannot show why it failed, so ask again and show the answer.
  const why = document.querySelector("#why");
  plot.addEventListener("load", () => { plot.hidden = false; why.hidden = true; });
  const explain = async () => {
    const answer = await fetch(plot.src).catch(() => null);
    const fault = answer && !answer.ok ? await answer.json().catch(() => null) : null;
    why.textContent = "No picture" + (answer ? ` (${answer.status}): ` : ": ") + (fault ? fault.reason : "the server cannot be reached");
    plot.hidden = true;
    why.hidden = false;
  };
  plot.addEventListener("error", explain);
  if (plot.complete && !plot.naturalWidth) explain(); // it failed before this script ran
  for (const input of all("input[data-length]", form)) {
    const last = input.dataset.length - 1;
    if (!input.dataset.fixed || last < 1) continue;
    const slider = made("input", { type: "range", min: 0, max: last, value: +input.value || 0, ariaLabel: input.name });
    slider.addEventListener("input", () => { input.value = slider.value; soon(); });
    input.addEventListener("input", () => { slider.value = +input.value || 0; });
    input.after(slider);
  }
  form.addEventListener("change", (event) => { if (event.target.type !== "range") form.requestSubmit(); });
}

// Helps for the forms: sections that look after themselves while something runs, and sliders that say their value.
"use strict";

// A section that waits for a simulation is fetched again until it is there; what was typed meanwhile stays.
async function poll(section) {
  const name = section.dataset.poll;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById(name);
    if (!fresh) return;
    localTimes(fresh);
    section.replaceWith(fresh);
    section = fresh;
  } catch {
    // The service is away for a moment; the next time may do.
  }
  if (section.dataset.poll) setTimeout(poll, 700, section);
}

for (const section of document.querySelectorAll("[data-poll]")) setTimeout(poll, 700, section);

for (const slider of document.querySelectorAll(".slider input")) {
  const shown = slider.parentElement.querySelector("output");
  slider.addEventListener("input", () => { shown.textContent = `${slider.value}${slider.dataset.unit}`; });
}

const policy = document.querySelector(".sliders select#policy");
if (policy) {
  policy.addEventListener("change", () => {
    document.getElementById("policy-help").textContent = policy.selectedOptions[0].dataset.sentence;
  });
}

// As many outcomes as are needed: another pair of fields like the last, for the next number.
const more = document.getElementById("more-outcomes");
if (more) {
  const MOST = 100;
  more.hidden = false;
  more.addEventListener("click", () => {
    const pairs = document.querySelectorAll(".pair");
    const last = pairs[pairs.length - 1];
    const number = pairs.length;
    const fresh = last.cloneNode(true);
    for (const field of fresh.querySelectorAll("input")) {
      const kind = field.name.split("-")[0];
      field.id = field.name = `${kind}-${number}`;
      field.value = "";
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-describedby");
      field.setAttribute("aria-label", kind === "outcome" ? `Outcome ${number + 1}` : `Worth of outcome ${number + 1}`);
      if (kind === "outcome") field.placeholder = `outcome ${number + 1}`;
    }
    last.after(fresh);
    fresh.querySelector("input").focus();
    more.hidden = number + 1 >= MOST;
  });
}

// A file that is chosen is read into the field beside it, where it can be looked at before it is sent.
for (const chosen of document.querySelectorAll("input[type=file][data-into]")) {
  chosen.closest("[hidden]").hidden = false;
  chosen.addEventListener("change", async () => {
    if (chosen.files.length) document.getElementById(chosen.dataset.into).value = await chosen.files[0].text();
  });
}

// Covariates: as many rows as are needed, each with the fields of its kind, and policies that need some when there are.
const known = document.getElementById("known");
if (known) {
  const MOST = 50;
  const more = document.getElementById("more-known");
  const personal = document.getElementById("personal");
  const rows = () => [...known.querySelectorAll(".known")];
  const part = (row, name) => row.querySelector(`[name^="known_${name}-"]`);
  const blank = row => !["name", "low", "high", "unit", "levels"].some(name => part(row, name).value.trim());

  function show() {
    for (const row of rows()) {
      const category = part(row, "kind").value === "category";
      row.querySelector(".measure").hidden = category;
      row.querySelector(".category").hidden = !category;
      row.querySelector(".less").hidden = blank(row);
    }
    const chosen = personal.querySelector("input:checked");
    personal.hidden = rows().every(blank) && !chosen;
    more.hidden = rows().length >= MOST;
  }

  function cleared(row) {
    for (const field of row.querySelectorAll("input, textarea")) field.value = "";
    for (const field of row.querySelectorAll("select")) field.selectedIndex = 0;
    for (const field of row.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      field.setAttribute("aria-describedby", `${field.id}-help`);
    }
    for (const said of row.querySelectorAll(".wrong")) said.remove();
    return row;
  }

  more.addEventListener("click", () => {
    const last = rows().at(-1);
    const number = Number(last.dataset.row) + 1;
    const fresh = cleared(last.cloneNode(true));
    fresh.dataset.row = number;
    for (const each of fresh.querySelectorAll("[id], [for], [name], [aria-describedby]")) {
      for (const name of ["id", "for", "name", "aria-describedby"]) {
        const said = each.getAttribute(name);
        if (said) each.setAttribute(name, said.replace(/(known_[a-z]+-)\d+/g, `$1${number}`));
      }
    }
    fresh.querySelector("legend").textContent = `Known before, ${number + 1}`;
    fresh.querySelector(".less .hidden").textContent = ` what is known before, ${number + 1}`;
    last.after(fresh);
    show();
    part(fresh, "name").focus();
  });
  known.addEventListener("click", event => {
    const button = event.target.closest(".less");
    if (!button) return;
    const row = cleared(button.closest(".known"));
    if (rows().length > 1) row.remove();
    show();
    part(rows().at(-1), "name").focus();
  });
  known.addEventListener("input", show);
  known.addEventListener("change", show);
  show();
}

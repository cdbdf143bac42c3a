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

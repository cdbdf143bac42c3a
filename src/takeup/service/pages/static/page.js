// Small helps on every page; all of them work without.
"use strict";

// Times in the reader's own zone.
function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const when = new Date(time.dateTime);
    time.title = time.textContent;
    time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
}

// What a mark of a chart says, beside the pointer: charts describe every mark for screen readers already.
function tips() {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  document.addEventListener("pointermove", (event) => {
    const mark = event.target instanceof Element && event.target.closest('figure svg [role="graphics-symbol"][aria-label]');
    tip.hidden = !mark;
    if (!mark) return;
    tip.textContent = mark.getAttribute("aria-label");
    tip.style.left = `${Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
}

// A form that is on its way is not sent again.
function sendOnce() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
    setTimeout(() => delete form.dataset.sent, 5000);
  });
  window.addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });
}

localTimes(document);
tips();
sendOnce();

// A trial's dashboard follows the trial: when the service has rendered something new it is fetched and put in place.
"use strict";

(() => {
  const live = document.getElementById("live");
  const age = document.getElementById("age");
  const told = document.getElementById("told");
  const base = `/app/trials/${encodeURIComponent(live.dataset.trial)}`;
  const QUIET_MS = 30000; // screen readers hear of changes at most so often
  let lastTold = Date.now();
  let connected = null; // not known yet
  let busy = false;

  const dashboard = () => live.querySelector(".dashboard");
  const rendered = () => Number(dashboard().dataset.rendered);

  // The same place in a part that replaces another: the element's own id, or the nearest one with its kind.
  function place(element) {
    if (!element || !live.contains(element)) return null;
    if (element.id) return `#${CSS.escape(element.id)}`;
    const holder = element.closest("[id]");
    return holder && live.contains(holder) ? `#${CSS.escape(holder.id)} ${element.localName}` : null;
  }

  // What a person did to a part stays: what is open, where it is scrolled to, what has the focus.
  function keep(old, fresh) {
    for (const details of fresh.querySelectorAll("details[id]")) {
      const before = old.querySelector(`#${CSS.escape(details.id)}`);
      if (before) details.open = before.open;
    }
    const scrolled = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    return () => fresh.querySelectorAll(".scroll").forEach((each, i) => { each.scrollLeft = scrolled[i] || 0; });
  }

  // Only what has changed is replaced, so that what a person reads or marks stays as it is.
  function show(fresh) {
    const now = dashboard();
    const focus = place(document.activeElement);
    const parts = [...fresh.querySelectorAll("section[id]")];
    const same = parts.length > 0 && parts.map((each) => each.id).join() === [...now.querySelectorAll("section[id]")].map((each) => each.id).join();
    localTimes(fresh);
    for (const [old, part] of same ? parts.map((each) => [now.querySelector(`#${CSS.escape(each.id)}`), each]) : [[now, fresh]]) {
      const scroll = keep(old, part);
      if (old.isEqualNode(part)) continue;
      old.replaceWith(part);
      scroll();
    }
    document.getElementById("moved")?.remove();
    if (same) Object.assign(now.dataset, fresh.dataset);
    const badge = document.getElementById("state");
    const known = Number(badge.dataset.sequence) || 0; // what was drawn before the trial moved does not say how it is now
    if (fresh.dataset.state && Number(fresh.dataset.sequence) >= known) { badge.className = `state ${fresh.dataset.state}`; badge.textContent = fresh.dataset.state; }
    if (focus && place(document.activeElement) !== focus) live.querySelector(focus)?.focus({ preventScroll: true });
    announce();
  }

  function announce() {
    const headline = document.getElementById("headline");
    if (headline && Date.now() - lastTold > QUIET_MS && told.textContent !== headline.textContent) {
      told.textContent = headline.textContent;
      lastTold = Date.now();
    }
  }

  // Forms depend on whether the trial runs; those of this visitor come with the page itself.
  async function steer() {
    const old = document.getElementById("steer");
    const state = dashboard().dataset.state;
    if (!state || !old || old.dataset.state === state || old.contains(document.activeElement)) return;
    const answer = await fetch(location.pathname, { headers: { Accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("steer");
    if (fresh) old.replaceWith(document.adoptNode(fresh));
  }

  const marking = () => {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && live.contains(selection.anchorNode);
  };

  async function follow() {
    if (busy || marking()) return;
    busy = true;
    try {
      const answer = await fetch(`${base}/dashboard?after=${rendered()}`);
      if (answer.redirected) { location.reload(); return; } // the session has ended
      if (answer.status === 200) {
        const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = parsed.querySelector(".dashboard");
        if (fresh) show(document.adoptNode(fresh));
        await steer();
      }
    } catch { /* the network is away; the stream tells again */ } finally { busy = false; }
  }

  // A browser has few connections to a host: pages that nobody sees let go of theirs.
  let wanted = 0;
  let stream = null;
  function listen() {
    if (stream || document.hidden) return;
    stream = new EventSource(`${base}/stream?after=${rendered()}`);
    stream.onopen = () => { connected = true; };
    stream.onmessage = (event) => { wanted = JSON.parse(event.data).rendered; follow(); };
    stream.onerror = () => {
      connected = false;
      if (stream && stream.readyState === EventSource.CLOSED) { stream = null; setTimeout(listen, 30000); }
    };
  }
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { listen(); return; }
    stream?.close();
    stream = null;
  });
  listen();

  function since() {
    const seconds = Math.max(0, Math.round((Date.now() - rendered() / 1000) / 1000));
    const ago = seconds < 90 ? `${seconds} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
    age.hidden = rendered() === 0;
    age.classList.toggle("live", connected === true);
    age.textContent = { true: "live, ", false: "not connected, ", null: "" }[connected] + `drawn ${ago} ago`;
    if (wanted > rendered() && !document.hidden) follow();
  }
  since();
  setInterval(since, 1000);
})();

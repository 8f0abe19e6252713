// Keys of the page: j and k choose an item, a letter shown on its button presses it, / goes to the search.
// Everything here can be done without it, by Tab and Enter.
(() => {
  const items = () => [...document.querySelectorAll("[data-item]")];
  let at = -1;
  const choose = (next) => {
    const all = items();
    if (!all.length) return;
    all.forEach((each) => each.classList.remove("chosen"));
    at = Math.max(0, Math.min(all.length - 1, next));
    const item = all[at];
    item.classList.add("chosen");
    const first = item.querySelector("a, button, [tabindex]") || item;
    first.focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=range]), textarea, select")) return;
    if (event.key === "j") choose(at + 1);
    else if (event.key === "k") choose(at - 1);
    else if (event.key === "/") document.querySelector("[data-search]")?.focus();
    else if (/^[a-z]$/.test(event.key)) {
      const own = `[data-key="${event.key}"]`;
      const button = (items()[Math.max(at, 0)] || document).querySelector(own) || document.querySelector(`main > .actions ${own}`);
      if (!button) return;
      button.click();
    } else return;
    event.preventDefault();
  });
  // A renewal of the live view leaves the focus where it was.
  let held = "";
  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    held = event.target.contains(document.activeElement) ? document.activeElement.outerHTML : "";
  });
  document.addEventListener("htmx:sseMessage", (event) => {
    const all = [...event.target.querySelectorAll("a, button, summary, [tabindex]")];
    if (held) all.find((each) => each.outerHTML === held)?.focus({ preventScroll: true });
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });
})();

// Which statements are listed? Those that fit every field of the form; the address keeps the choice.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const items = [...document.querySelectorAll(".statement")];
  const families = [...document.querySelectorAll(".family")];
  const count = document.getElementById("count");
  const chosen = () => Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));

  const fits = (item, { text = "", ...fields }) =>
    text.toLowerCase().split(/\s+/).every((word) => item.dataset.text.includes(word)) &&
    Object.entries(fields).every(([name, value]) => item.dataset[name].split(" ").includes(value));

  const show = () => {
    const fields = chosen();
    let shown = 0;
    for (const item of items) {
      item.hidden = !fits(item, fields);
      shown += item.hidden ? 0 : 1;
    }
    for (const family of families) family.hidden = !family.querySelector(".statement:not([hidden])");
    count.textContent = shown === items.length ? `${shown} statements` : `${shown} of ${items.length} statements`;
  };

  const read = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) if (field.name) field.value = wanted.get(field.name) ?? "";
    show();
  };

  const write = () => {
    const words = new URLSearchParams(chosen()).toString();
    history.replaceState(null, "", words ? `#${words}` : "#");
    show();
  };

  form.addEventListener("input", write);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(write)); // The fields are empty only after the event.
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();

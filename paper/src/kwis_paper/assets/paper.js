"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const output = form.querySelector("output");
  const lines = [...document.querySelectorAll("tr[data-dataset]")];
  const blocks = [...document.querySelectorAll("[data-setting], [data-truth]")].filter((node) => node.tagName !== "TR");
  const matches = (have, want) => !want || !have || have.split(" ").includes(want);
  const apply = () => {
    const { dataset, setting, truth } = Object.fromEntries(new FormData(form));
    for (const block of blocks) block.hidden = !(matches(block.dataset.setting, setting) && matches(block.dataset.truth, truth));
    let shown = 0;
    for (const line of lines) {
      line.hidden = !(matches(line.dataset.dataset, dataset) && matches(line.dataset.of, setting));
      shown += !line.hidden && !line.closest("[hidden]");
    }
    output.textContent = dataset || setting || truth ? `${shown.toLocaleString("en")} rows shown` : "";
  };
  form.addEventListener("change", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
})();

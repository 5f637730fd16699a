"use strict";
(() => {
  const button = document.querySelector("button[data-themes]");
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const now = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const say = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = now() === "dark" ? "light" : "dark";
    say();
  });
  dark.addEventListener("change", say);
  say();
})();

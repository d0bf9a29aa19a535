// Light or dark: as the system says until a person chooses, then as chosen. Runs before the first paint.
(() => {
  const key = "tripleshot-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  function chosen() {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage can be forbidden
    }
  }

  function apply(theme) {
    root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = theme === "dark" ? "Light" : "Dark";
      button.setAttribute("aria-label", theme === "dark" ? "Use light colours" : "Use dark colours");
    }
    document.dispatchEvent(new Event("themechange"));
  }

  function toggle() {
    const theme = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(key, theme);
    } catch {
      // the choice then lasts as long as the page
    }
    apply(theme);
  }

  const current = () => chosen() ?? (system.matches ? "dark" : "light");
  apply(current());
  system.addEventListener("change", () => apply(current()));
  document.addEventListener("DOMContentLoaded", () => {
    apply(current());
    document.getElementById("theme").addEventListener("click", toggle);
  });
})();

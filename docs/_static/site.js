// The arrows that open parts of the navigation are pictures: say what they open.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll(".bd-sidebar-primary details > summary")) {
    const above = arrow.closest("li").querySelector("a");
    arrow.setAttribute("aria-label", `Pages below ${above.textContent.trim()}`);
  }
});

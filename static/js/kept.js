// kept.js: a text that the server could not be given stays in this tab until it can. What looks
// like a credential is never put there.

const CREDENTIAL = /sk-[\w-]{16}|cg_live_|gh[pousr]_|github_pat_|A[KS]IA[A-Z0-9]{16}|AIza|xox[abprs]-|eyJ|PRIVATE KEY/;

export function keep(area) {
  const place = `unsent ${area.form.action}`;
  const why = document.getElementById("save-why");
  const say = (words) => { if (why) why.textContent = words; };

  const unsent = sessionStorage.getItem(place);
  if (unsent !== null && unsent !== area.value && !area.readOnly) {
    area.value = unsent;
    area.dataset.unsent = "";
    say("This is the text that the server had not got. It is not saved.");
  }

  const failed = (event) => {
    if (event.detail.elt !== area) return;
    if (CREDENTIAL.test(area.value)) {
      say("The server does not answer, and a text with a credential is kept nowhere.");
      return;
    }
    sessionStorage.setItem(place, area.value);
    say("The server does not answer. Your text is kept in this tab; go on or come back later.");
  };
  document.addEventListener("htmx:sendError", failed);
  document.addEventListener("htmx:timeout", failed);
  document.addEventListener("htmx:responseError", failed);
  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.elt === area && event.detail.successful) sessionStorage.removeItem(place);
  });
  area.form.addEventListener("submit", () => sessionStorage.removeItem(place));
}

// Signs in with the token after the `#` of the researcher's link, and first removes the token from the address bar.
function takeToken() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  const form = document.getElementById("sign-in");
  if (form === null) return; // signed in already, or the study has accounts
  form.elements.token.value = token;
  form.submit();
}
window.addEventListener("hashchange", takeToken); // the link was opened in a tab that already shows this page
takeToken();

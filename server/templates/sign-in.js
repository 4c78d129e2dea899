// Signs in with the token behind the `#` of the researcher's link, and takes it out of the address bar first.
function takeToken() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", location.pathname);
  const form = document.getElementById("sign-in");
  if (form === null) return; // signed in already
  form.elements.token.value = token;
  form.submit();
}
window.addEventListener("hashchange", takeToken); // the link was opened where the page was open
takeToken();


"use strict";
// Gives every operation its form. What comes back is only ever shown as text.
const key = document.getElementById("key");
document.getElementById("credential").hidden = false;

function address(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const field of form.querySelectorAll("[data-place]")) {
    const value = field.value;
    if (field.dataset.place === "path") {
      const encoded = "rest" in field.dataset ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value);
      path = path.replace("{" + field.name + "}", () => encoded);
    } else if (field.dataset.place === "query" && value !== "") {
      query.append(field.name, value);
    }
  }
  return query.size ? path + "?" + query : path;
}

function request(form) {
  const headers = {};
  const token = key.value.trim();
  if (token && !("public" in form.dataset)) headers.Authorization = "Bearer " + token;
  for (const field of form.querySelectorAll("[data-place=header]")) {
    if (field.value !== "") headers[field.name] = field.value;
  }
  const body = form.elements.namedItem("body")?.value ?? "";
  if (body.trim() !== "") headers["Content-Type"] = "application/json";
  return {
    method: form.dataset.method,
    headers,
    body: body.trim() === "" ? undefined : body,
    redirect: "manual",
    cache: "no-store",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  };
}

function pretty(type, text) {
  if (!/json/.test(type)) return text;
  try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
}

async function answer(form) {
  const sent = form.dataset.method + " " + address(form);
  const response = await fetch(address(form), request(form));
  if (response.type === "opaqueredirect") {
    return sent + "\n\nA redirect. Browsers do not tell a script where it leads: open the address itself.";
  }
  const head = [...response.headers].map(([name, value]) => name + ": " + value).join("\n");
  const text = pretty(response.headers.get("content-type") ?? "", await response.text());
  return sent + "\n\n" + response.status + " " + response.statusText + "\n" + head + "\n\n" + text;
}

for (const form of document.querySelectorAll("form")) {
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    const button = form.querySelector("button");
    const shown = document.createElement("pre");
    shown.tabIndex = 0;
    button.disabled = true;
    try {
      shown.textContent = await answer(form);
    } catch (error) {
      shown.textContent = "The request could not be sent: " + error.message;
    }
    button.disabled = false;
    output.replaceChildren(shown);
    output.hidden = false;
    button.focus();
  });
}

// A link to an operation opens it.
function open() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const details = target && target.querySelector("details");
  if (details) details.open = true;
}
addEventListener("hashchange", open);
open();

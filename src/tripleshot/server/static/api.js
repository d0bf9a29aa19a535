// The HTTP API: requests, the server's own sentence for every error, and the bearer token of servers that want one.

const TOKEN = "tripleshot-token";
let asking = null; // one dialog for however many requests were refused at once

/** An error to show a person; `message` is the server's detail where it gave one. */
export class RequestError extends Error {}

export const about = () => request("about");

/** A question to try: {"question": {relation, examples, head} or null}. */
export const example = () => request("example");

export const answer = (question, signal) =>
  request("answer", {
    signal,
    body: {
      ...relationOf(question),
      [question.side === "tail" ? "tails" : "heads"]: question.asked,
      top: question.top,
      candidates: question.among === "types" ? question.types : question.among,
      with_known: question.known,
    },
  });

/** Proposals for some heads of a relation; `body` is the request as the server wants it. */
export const complete = (body, signal) => request("complete", { signal, body });

/** The most frequent relations of the graph. */
export const relations = () => request("relations");

export const explain = (question, { asked, answer: found }, signal) => {
  const [head, tail] = question.side === "tail" ? [found, asked] : [asked, found];
  const body = { ...relationOf(question), head, tail, asked: question.side };
  return request("explain", { signal, body });
};

/** The relation by its name, by examples or by both: the server takes examples from the graph where none are given. */
const relationOf = ({ relation, examples }) => ({
  ...(relation ? { relation } : {}),
  ...(examples.length ? { examples } : {}),
});

export async function search(text, limit = 8, signal = undefined) {
  const found = await request(`entities?${new URLSearchParams({ q: text, limit })}`, { signal });
  return found.entities;
}

/** Names of types that have a text in them. */
export async function searchTypes(text, limit = 8, signal = undefined) {
  const found = await request(`types?${new URLSearchParams({ q: text, limit })}`, { signal });
  return found.types;
}

async function request(path, { body, signal } = {}) {
  await asking; // while a person types the token, everything waits for it
  const token = sessionStorage.getItem(TOKEN);
  const response = await send(path, body, signal, token);
  if (response.status === 401) {
    const isNewer = sessionStorage.getItem(TOKEN) !== token; // told while this request was under way
    if (isNewer || (await askToken())) return request(path, { body, signal });
  }
  if (!response.ok) throw new RequestError(await detail(response));
  return response.json();
}

async function send(path, body, signal, token) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  try {
    return await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError("The server does not answer. Is it still running?");
  }
}

async function detail(response) {
  const told = await response.json().catch(() => ({}));
  if (typeof told.detail === "string") return told.detail;
  return `The server answered with status ${response.status}.`;
}

function askToken() {
  asking ??= openDialog().finally(() => {
    asking = null;
  });
  return asking;
}

function openDialog() {
  const dialog = document.getElementById("token-dialog");
  const field = document.getElementById("token");
  if (sessionStorage.getItem(TOKEN)) {
    document.getElementById("token-hint").textContent = "The server did not accept that token.";
  }
  field.value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        const isTold = dialog.returnValue === "use" && field.value !== "";
        if (isTold) sessionStorage.setItem(TOKEN, field.value);
        resolve(isTold);
      },
      { once: true },
    );
  });
}

// Questions to the service: one function, one shape of errors.
import { byId } from "/static/elements.js";

let open = 0; // questions without an answer yet

function count(step) {
  open += step;
  byId("results").setAttribute("aria-busy", String(open > 0));
}

/** GET, or POST when there is a body; a refusal is thrown as an error with its `fault`. */
export async function fetched(path, body) {
  const answer = await fetch(path, body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) {
    const known = { fault: content.error, status: answer.status };
    throw Object.assign(new Error(content.error.why), known);
  }
  return content;
}

/** The same for what the person waits for: the results are marked as busy. */
export async function ask(path, body) {
  count(1);
  try {
    return await fetched(path, body);
  } finally {
    count(-1);
  }
}

// Questions to the service: one function, one shape of errors.

/** GET, or POST when there is a body; a refusal is thrown as an error with its `fault`. */
export async function ask(path, body) {
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

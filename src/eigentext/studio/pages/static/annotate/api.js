// Questions about annotation: who is asking goes with each, and a conflict is told apart.

let csrf = "";

export const rememberSession = (session) => { csrf = session.csrf ?? ""; return session; };

/** Any method; a refusal is thrown as an error with its `fault`, `status` and perhaps `conflict`. */
export async function call(method, path, body) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-CSRF-Token"] = csrf;
  const answer = await fetch(path, {
    method, headers, body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (answer.status === 204) return null;
  const content = await answer.json().catch(() => ({ error: { line: null, why: "The answer of the service cannot be read." } }));
  if (!answer.ok) {
    const known = { fault: content.error, status: answer.status, conflict: content.conflict };
    throw Object.assign(new Error(content.error.why), known);
  }
  return content;
}

export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(given).toString();
  return call("GET", path + (text && `?${text}`));
};
export const post = (path, body = {}) => call("POST", path, body);
export const patch = (path, body) => call("PATCH", path, body);
export const remove = (path, query = {}) => call("DELETE", `${path}?${new URLSearchParams(query)}`);

export const session = async () => rememberSession(await get("/api/session"));

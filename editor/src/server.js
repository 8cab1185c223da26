// What the editor asks the server: what is wrong with a plan, what it would sell first, and files of other formats.

/** Server sends requests with the token of the element, or through the page's own function. */
export class Server {
  token = undefined;
  call = undefined;

  constructor(element) { this.element = element; }

  /** ask returns the answer: JSON, or the text of a file. It throws an Error that says why. */
  async ask(method, path, body) {
    if (this.call !== undefined) return this.call(method, path, body);
    const token = typeof this.token === "function" ? await this.token() : this.token;
    const isFile = body instanceof Blob;
    const headers = { ...(token && { Authorization: `Bearer ${token}` }), "Content-Type": isFile ? body.type || "application/octet-stream" : "application/json" };
    const base = this.element.getAttribute("src") ?? "";
    const response = await fetch(new URL(path, new URL(base || "/", location.href)), { method, headers, body: isFile ? body : JSON.stringify(body) });
    const isJSON = response.headers.get("Content-Type")?.includes("json");
    const answer = await (isJSON ? response.json() : response.text());
    if (!response.ok) throw Object.assign(new Error(answer.detail ?? answer.title ?? `The server answered ${response.status}.`), { problem: answer });
    return answer;
  }

  preview(plan, seats) { return this.ask("POST", "/api/admin/seating-plans/preview", { plan, seats }); }
  export(plan, format) { return this.ask("POST", `/api/admin/seating-plans/export?format=${format}`, plan); }
  convert(file, parameters = {}) { return this.ask("POST", `/api/admin/seating-plans/convert?${new URLSearchParams(parameters)}`, file); }
}

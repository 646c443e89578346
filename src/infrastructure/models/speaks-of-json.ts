import type { ModelRequest } from "../../application/ports/model.ts";

/** OpenAI refuses to promise JSON when nobody mentions it. */
export function speaksOfJson({ system = "", messages }: ModelRequest): boolean {
  return /json/i.test(system) || messages.some(({ text }) => /json/i.test(text));
}

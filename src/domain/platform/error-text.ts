/**
 * The text of an error, for any thrown value: a failure that is a value has a message as well, or is shown as
 * JSON.
 */
export function toErrorText(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  if (typeof error !== "object" || error === null) return String(error);
  const { message } = error as { message?: unknown };
  if (typeof message === "string" && message !== "") return message;
  try {
    return JSON.stringify(error);
  } catch {
    return Object.prototype.toString.call(error);
  }
}

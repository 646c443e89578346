/** The text of any thrown value: its message, also of a failure that is a value, else JSON. */
export function toErrorText(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  if (typeof error !== "object" || error === null) return String(error);
  const { message } = error as { message?: unknown };
  if (typeof message === "string" && message !== "") return message;
  return attemptOr(undefined, () => JSON.stringify(error)) ?? Object.prototype.toString.call(error);
}

/** The messages of these are written by the runtime, and quote the program's code. */
const ABOUT_CODE = new Set(["TypeError", "ReferenceError", "SyntaxError", "RangeError", "BuildMessage"]);
const LONGEST_FAULT = 300;
/** A file of the program that the system did not open. */
const UNREAD_FILE = /^E[A-Z]+ reading "/;

/** One line about an error that the program did not expect, for people: no code, no stack. */
export function toFaultText(error: unknown): string {
  const name = error instanceof Error ? error.name : "";
  const isPlain = (error as { code?: unknown } | null)?.code === undefined;
  const [line = ""] = toErrorText(error).trim().split("\n");
  if (isPlain && ABOUT_CODE.has(name) && !UNREAD_FILE.test(line)) return name;
  return line.length > LONGEST_FAULT ? `${line.slice(0, LONGEST_FAULT)}…` : line;
}

/** Calls `act`; returns `fallback` if it throws. For questions to which every failure is the same answer. */
export function attemptOr<T, F>(fallback: F, act: () => T): T | F {
  try {
    return act();
  } catch {
    return fallback;
  }
}

export function succeeds(act: () => unknown): boolean {
  return attemptOr(false, () => {
    act();
    return true;
  });
}

/** Calls `act`; returns `fallback` if the system refuses it. Any other error is a bug and is rethrown. */
export function attemptSystem<T, F>(fallback: F, act: () => T): T | F {
  try {
    return act();
  } catch (error) {
    if (typeof (error as { code?: unknown }).code !== "string") throw error;
    return fallback;
  }
}

export function trySystemCall(act: () => void): boolean {
  return attemptSystem(false, () => {
    act();
    return true;
  });
}

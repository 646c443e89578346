const MOST_NAMES = 50;
const LONGEST_NAME = 60;
const LONGEST_VALUE = 1_000;

/** A session's memory with a name set, or forgotten by null. Null when it does not fit. */
export function changedMemory(
  memory: Readonly<Record<string, string>>,
  name: string,
  value: string | null,
): Readonly<Record<string, string>> | null {
  if (name === "" || name.length > LONGEST_NAME || (value?.length ?? 0) > LONGEST_VALUE) return null;
  const others = Object.entries(memory).filter(([known]) => known !== name);
  if (value === null) return Object.fromEntries(others);
  return others.length >= MOST_NAMES ? null : Object.fromEntries([...others, [name, value]]);
}

/** For a model: what the user wants to be kept in mind. */
export function wordMemory(memory: Readonly<Record<string, string>>): string {
  const lines = Object.entries(memory).map(([name, value]) => `- ${name} = ${value}`);
  return lines.length === 0 ? "" : `Kept in mind for the user:\n${lines.join("\n")}`;
}

/** `name = value`, `name: value` or `name value`; the value is null where only a name stands. */
export function readMemoryLine(text: string): { readonly name: string; readonly value: string | null } {
  const found = /^([^\s=:：＝]+)(?:\s*[=:：＝]\s*|\s+)([\s\S]+)$/u.exec(text.trim());
  if (found === null) return { name: text.trim(), value: null };
  return { name: found[1] as string, value: (found[2] as string).trim() };
}

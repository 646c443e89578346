import type { CliProgram } from "./program.ts";

const KEPT_LINES = 500;

/** What was typed before, oldest first; a file that cannot be read is an empty one. */
export function readChatHistory(program: CliProgram): readonly string[] {
  try {
    const text = new TextDecoder().decode(program.readFile(program.chatHistory.file));
    return text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown)
      .filter((line) => typeof line === "string")
      .slice(-KEPT_LINES);
  } catch {
    return [];
  }
}

/** Kept for the user alone; not being able to is no reason to stop. */
export function saveChatHistory(program: CliProgram, history: readonly string[]): void {
  const lines = history.slice(-KEPT_LINES).map((text) => JSON.stringify(text));
  program.chatHistory.save(`${lines.join("\n")}\n`);
}

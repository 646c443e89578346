const COMMAND_CHARS = 200;

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** One line that fits between backticks. */
export function inline(command: string): string {
  const line = oneLine(command).replaceAll("`", "'");
  return line.length > COMMAND_CHARS ? `${line.slice(0, COMMAND_CHARS)}…` : line;
}

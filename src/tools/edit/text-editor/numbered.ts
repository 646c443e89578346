/** Lines with their numbers, as `cat -n` writes them. */
export function numberLines(text: string, firstLine: number): string {
  if (text === "") return "";
  const lines = text.replace(/\r?\n$/, "").split("\n");
  return lines.map((line, at) => `${String(firstLine + at).padStart(6)}\t${line}`).join("\n");
}

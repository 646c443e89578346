/** Added lines green, removed ones red, places cyan, file names bold. */
export function colourDiff(diff: string): string {
  return diff.replace(/^(?:\+.*|-.*|@@.*)$/gm, (line) => `\x1b[${codeOf(line)}m${line}\x1b[0m`);
}

function codeOf(line: string): number {
  if (/^(?:\+\+\+|---) /.test(line)) return 1;
  if (line.startsWith("+")) return 32;
  return line.startsWith("-") ? 31 : 36;
}

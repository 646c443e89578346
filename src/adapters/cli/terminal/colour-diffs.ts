/** Colours the lines of ```diff blocks; other text stays as it is. */
export function colourDiffs(text: string): string {
  return text.replace(/^(```|~~~~)diff\n(.*?)^\1$/gms, (_, __, body: string) =>
    body.replace(/^(?:\+.*|-.*|@@.*)$/gm, (line) => {
      const colour = /^(?:\+\+\+|---) /.test(line)
        ? 1
        : line.startsWith("+")
          ? 32
          : line.startsWith("-")
            ? 31
            : 36;
      return `\x1b[${colour}m${line}\x1b[0m`;
    }),
  );
}

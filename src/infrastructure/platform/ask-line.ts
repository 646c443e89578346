import { createInterface } from "node:readline";

/** Asks at the terminal and waits for a line; null when the terminal ends, or at Ctrl-C. */
export function askLine(question: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  terminal.on("close", () => resolve(null));
  terminal.on("SIGINT", () => terminal.close());
  terminal.question(question, (line) => {
    resolve(line);
    terminal.close();
  });
  return promise;
}

/** A program behind a real pseudo-terminal. */
export interface Typist {
  /** Everything the program wrote so far. */
  seen(): string;
  type(text: string): void;
  /** Waits until the text was written after the last `expect`, and returns what came up to its end. */
  expect(text: string | RegExp, deadlineMs?: number): Promise<string>;
  resize(columns: number, rows: number): void;
  exited: Promise<number>;
  signal(name: "SIGTERM" | "SIGKILL"): void;
}

export function openPty(
  argv: readonly string[],
  options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly columns?: number;
  },
): Typist {
  const decoder = new TextDecoder();
  let written = "";
  let read = 0;
  let wake = () => {};
  const terminal = new Bun.Terminal({
    cols: options.columns ?? 80,
    rows: 24,
    data(_, bytes) {
      written += decoder.decode(bytes, { stream: true });
      wake();
    },
  });
  const child = Bun.spawn({
    cmd: [...argv],
    cwd: options.cwd,
    env: { ...options.env, TERM: "xterm" },
    terminal,
  });
  return {
    seen: () => written,
    type: (text) => void terminal.write(text),
    async expect(text, deadlineMs = 120_000) {
      const end = performance.now() + deadlineMs;
      for (;;) {
        const rest = written.slice(read);
        const at = typeof text === "string" ? rest.indexOf(text) : rest.search(text);
        if (at >= 0) {
          const length = typeof text === "string" ? text.length : (text.exec(rest)?.[0].length ?? 0);
          read += at + length;
          return rest.slice(0, at + length);
        }
        const left = end - performance.now();
        if (left <= 0) throw new Error(`never written: ${text}\nseen: ${JSON.stringify(rest)}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    },
    resize: (columns, rows) => terminal.resize(columns, rows),
    exited: child.exited,
    signal: (name) => child.kill(name),
  };
}

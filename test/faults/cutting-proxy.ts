/**
 * A relay between a program and Postgres that knows the passing statement and breaks every connection at a chosen one, as
 * the end of the server does: before the statement arrives, or after it was carried out and before that is known.
 */
import { connect, createServer, type Socket } from "node:net";

export type CutMoment = "before" | "after";

export interface CuttingProxy {
  /** The kinds of statement that passed: its text, and the one that its transaction began with. */
  readonly seen: Set<string>;
  /** Resolves when the next statement of that kind was cut off. */
  cutAt(kind: string, moment: CutMoment): Promise<void>;
  /** Nothing is cut any more. */
  spare(): void;
  close(): void;
}

interface Line {
  readonly near: Socket;
  readonly far: Socket;
  /** Whether it is in a transaction, and the first statement of that. */
  within: boolean;
  first: string | null;
  /** The server's answer is held back, and the line ends when it is ready again. */
  holding: boolean;
}

export async function startCuttingProxy(socket: string, target: string): Promise<CuttingProxy> {
  const lines = new Set<Line>();
  const seen = new Set<string>();
  const armed: { kind: string; moment: CutMoment; done: () => void }[] = [];

  function cutAll(): void {
    for (const { near, far } of lines) {
      near.destroy();
      far.destroy();
    }
    lines.clear();
  }

  /** Whether the line goes on. */
  function pass(line: Line, text: string): boolean {
    const statement = normal(text);
    if (statement === "begin") Object.assign(line, { within: true, first: null });
    else if (line.within) line.first ??= statement;
    const kind = line.first === null ? statement : `${line.first} › ${statement}`;
    if (statement === "commit" || statement === "rollback")
      Object.assign(line, { within: false, first: null });
    seen.add(kind);
    const at = armed.findIndex((one) => one.kind === kind);
    if (at < 0) return true;
    const [{ moment, done }] = armed.splice(at, 1) as [(typeof armed)[number]];
    if (moment === "before") cutAll();
    else line.holding = true;
    done();
    return moment === "after";
  }

  const server = createServer((near) => {
    const far = connect(target);
    const line: Line = { near, far, within: false, first: null, holding: false };
    lines.add(line);
    const read = reader((text) => pass(line, text));
    near.on("data", (data: Buffer) => {
      if (read(data)) far.write(data);
    });
    far.on("data", (data: Buffer) => {
      if (!line.holding) near.write(data);
      else if (data.at(-6) === "Z".charCodeAt(0)) cutAll();
    });
    const end = () => {
      lines.delete(line);
      near.destroy();
      far.destroy();
    };
    for (const one of [near, far]) one.on("error", end).on("close", end);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    seen,
    cutAt: (kind, moment) => new Promise((done) => void armed.push({ kind, moment, done })),
    spare: () => void armed.splice(0),
    close() {
      cutAll();
      server.close();
    },
  };
}

/** Lists of values and row numbers do not make another statement. */
function normal(text: string): string {
  return text
    .toLowerCase()
    .replace(/\s+/g, " ")
    .replace(/\$\d+/g, "?")
    .replace(/'[^']*'/g, "'…'")
    .replace(/(\(\?(, \?)*\))(, \(\?(, \?)*\))+/g, "$1")
    .replace(/(\?, )+\?/g, "?")
    .trim();
}

/** Reads what a client sends, message by message; false once a statement was refused. */
function reader(onStatement: (text: string) => boolean): (data: Buffer) => boolean {
  let rest = Buffer.alloc(0);
  let started = false;
  const prepared = new Map<string, string>();
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const head = started ? 1 : 0;
      if (rest.length < head + 4) return true;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return true;
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      if (!started) {
        started = true;
        continue;
      }
      const text = statementIn(message, prepared);
      if (text !== null && !onStatement(text)) return false;
    }
  };
}

/** The statement that a client's message has carried out: a query, or a statement that was prepared earlier, by its name. */
function statementIn(message: Buffer, prepared: Map<string, string>): string | null {
  const [type, ...texts] = [
    String.fromCharCode(message[0] ?? 0),
    ...message.toString("utf8", 5).split("\0", 2),
  ];
  const [first = "", second = ""] = texts;
  if (type === "P") prepared.set(first, second);
  if (type === "Q") return first;
  return type === "B" ? (prepared.get(second) ?? null) : null;
}

/** Proposals at random, with what a project holds after them, in each of the five formats. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";

export type Format = "json" | "markdown" | "search-replace" | "diff" | "v4a";

export interface KeptFile {
  readonly text: string;
  readonly runs: boolean;
}

/** The files of a project, by path. `text` is latin1, a character a byte. */
export type Kept = ReadonlyMap<string, KeptFile>;

export type Step =
  | { readonly kind: "write"; readonly path: string; readonly text: string }
  | { readonly kind: "delete"; readonly path: string }
  /** Onto another file, where there is one. */
  | { readonly kind: "move"; readonly path: string; readonly to: string }
  | { readonly kind: "mode"; readonly path: string; readonly runs: boolean }
  | { readonly kind: "bytes"; readonly path: string };

/** Files of every project but the empty one. */
export const STANDING: Readonly<Record<string, string>> = {
  "a.txt": "one\ntwo\n",
  "lib/b.js": "export const b = 1;\n",
  "lib/deep/c.txt": "deep\n",
};

const PATHS = [
  ...Object.keys(STANDING),
  "src/app.js",
  "new/x.txt",
  "new/y/z/deep.md",
  "lib/deep/more/d.py",
  "sp ace/f g.txt",
  "ü/日本.txt",
  ".hid/k.txt",
  "a.txt/inside.txt",
];
const TEXTS = [
  "x\n",
  "",
  "two\nlines\n",
  "日本語\n",
  "  indented\n\n\nblank\n",
  "const a = `b`;\n",
  "# head\n- x\n",
];
const BYTES = "\0\xff\x01\n\0";

const latin1 = (text: string) => Buffer.from(text).toString("latin1");

interface RandomStep {
  readonly kind: Step["kind"];
  readonly at: number;
  readonly to: number;
  readonly text: number;
}

const randomSteps: fc.Arbitrary<readonly RandomStep[]> = fc.array(
  fc.record({
    kind: fc.constantFrom("write", "write", "write", "delete", "move", "mode", "bytes"),
    at: fc.nat(PATHS.length - 1),
    to: fc.nat(PATHS.length - 1),
    text: fc.nat(TEXTS.length - 1),
  }),
  { minLength: 1, maxLength: 30, size: "max" },
);

export interface RandomProposal {
  readonly steps: readonly Step[];
  readonly after: Kept;
}

/** Kinds that each format can say by edits alone. */
const BY_EDITS: Readonly<Record<Format, readonly Step["kind"][]>> = {
  json: ["write", "delete", "move"],
  markdown: ["write"],
  "search-replace": ["write"],
  diff: ["write", "delete", "move", "mode", "bytes"],
  v4a: ["write", "delete", "move"],
};

/** Whether shell commands may stand between the edits. */
const HAS_COMMANDS = new Set<Format>(["json", "markdown", "search-replace"]);

/** Steps that fit each other: what does not fit is left out, and one new file in a new folder is always there. */
export function proposalsFor(
  before: Kept,
  format: Format,
  { editsOnly }: { readonly editsOnly: boolean },
): fc.Arbitrary<RandomProposal> {
  const allowed: readonly Step["kind"][] =
    HAS_COMMANDS.has(format) && !editsOnly ? ["write", "delete", "move", "mode", "bytes"] : BY_EDITS[format];
  return randomSteps.map((random) => {
    const after = new Map(before);
    const steps: Step[] = [];
    const touched = new Set<string>();
    for (const one of [
      ...random,
      { kind: "write" as const, at: PATHS.indexOf("src/app.js"), to: 0, text: 0 },
    ]) {
      const step = toStep(one);
      if (!allowed.includes(step.kind) || !fits(after, step)) continue;
      // A V4A operation and a diff speak of a file once.
      const paths = step.kind === "move" ? [step.path, step.to] : [step.path];
      if (format === "v4a" && paths.some((path) => touched.has(path))) continue;
      for (const path of paths) touched.add(path);
      carryOut(after, step);
      steps.push(step);
    }
    return { steps, after };
  });
}

function toStep({ kind, at, to, text }: RandomStep): Step {
  const path = PATHS[at] as string;
  if (kind === "write") return { kind, path, text: latin1(TEXTS[text] as string) };
  if (kind === "move") return { kind, path, to: PATHS[to] as string };
  return kind === "mode" ? { kind, path, runs: text % 2 === 0 } : { kind, path };
}

function fits(kept: Kept, step: Step): boolean {
  const isFree = (path: string) =>
    ![...kept.keys()].some((one) => one.startsWith(`${path}/`) || path.startsWith(`${one}/`));
  switch (step.kind) {
    case "write":
    case "bytes":
      return isFree(step.path);
    case "delete":
      return kept.has(step.path);
    case "move":
      return kept.has(step.path) && step.path !== step.to && isFree(step.to);
    case "mode":
      return kept.has(step.path) && kept.get(step.path)?.runs !== step.runs;
  }
}

function carryOut(kept: Map<string, KeptFile>, step: Step): void {
  const old = kept.get(step.path);
  switch (step.kind) {
    case "write":
      kept.set(step.path, { text: step.text, runs: old?.runs ?? false });
      break;
    case "bytes":
      kept.set(step.path, { text: BYTES, runs: old?.runs ?? false });
      break;
    case "delete":
      kept.delete(step.path);
      break;
    case "move":
      if (old !== undefined) kept.set(step.to, old);
      kept.delete(step.path);
      break;
    case "mode":
      kept.set(step.path, { text: old?.text ?? "", runs: step.runs });
      break;
  }
}

const utf8 = (text: string) => Buffer.from(text, "latin1").toString("utf8");
const quoted = (path: string) => `'${path}'`;
/** An edit takes the folders that it empties with it; a command has to say so. */
const prune = (path: string) =>
  path.includes("/")
    ? ` && { rmdir -p ${quoted(path.slice(0, path.lastIndexOf("/")))} 2>/dev/null || true; }`
    : "";

/** A step as a line of shell. */
export function toShell(step: Step): string {
  const path = quoted(step.path);
  const parent = (of: string) => `mkdir -p ${quoted(dirname(of))}`;
  switch (step.kind) {
    case "write":
      return `${parent(step.path)} && printf %s ${quoted(Buffer.from(step.text, "latin1").toString("base64"))} | base64 -d > ${path}`;
    case "bytes":
      return `${parent(step.path)} && printf '\\000\\377\\001\\n\\000' > ${path}`;
    case "delete":
      return `rm ${path}${prune(step.path)}`;
    case "move":
      return `${parent(step.to)} && mv -f ${path} ${quoted(step.to)}${prune(step.path)}`;
    case "mode":
      return `chmod ${step.runs ? "+x" : "-x"} ${path}`;
  }
}

/** The proposal as a patch of a format. */
export function toPatch(format: Format, before: Kept, { steps, after }: RandomProposal): string {
  switch (format) {
    case "json":
      return JSON.stringify(steps.map(toJsonCommand));
    case "markdown":
      return steps.map(toFence).join("\n");
    case "search-replace":
      return toSearchBlocks(before, steps);
    case "diff":
      return `\`\`\`diff\n${toDiff(before, after)}\`\`\``;
    case "v4a":
      return toV4a(before, steps);
  }
}

function toJsonCommand(step: Step): unknown {
  const edit = { type: "file_edit", target: step.path };
  if (step.kind === "write") return { ...edit, action: "create", content: utf8(step.text) };
  if (step.kind === "delete") return { ...edit, action: "delete" };
  if (step.kind === "move") return { ...edit, action: "rename", content: step.to };
  return { type: "shell_command", action: "run", target: toShell(step) };
}

function toFence(step: Step): string {
  const mark = "````";
  return step.kind === "write"
    ? `${mark}txt:${step.path}\n${utf8(step.text)}${mark}`
    : `${mark}bash\n${toShell(step)}\n${mark}`;
}

function toSearchBlocks(before: Kept, steps: readonly Step[]): string {
  const now = new Map(before);
  const blocks: string[] = [];
  for (const step of steps) {
    const old = now.get(step.path);
    carryOut(now, step);
    const isText = step.kind === "write" && step.text !== "" && old?.text !== "" && !old?.text.includes("\0");
    if (!isText) blocks.push(`\`\`\`bash\n${toShell(step)}\n\`\`\``);
    else if (old?.text !== step.text)
      blocks.push(
        `${step.path}\n\`\`\`\`\n<<<<<<< SEARCH\n${utf8(old?.text ?? "")}=======\n${utf8(step.text)}>>>>>>> REPLACE\n\`\`\`\``,
      );
  }
  return blocks.join("\n\n");
}

function toV4a(before: Kept, steps: readonly Step[]): string {
  const lines = (tag: string, text: string) =>
    utf8(text)
      .split("\n")
      .slice(0, -1)
      .map((line) => `${tag}${line}\n`)
      .join("");
  const now = new Map(before);
  const parts = steps.map((step) => {
    const old = now.get(step.path);
    carryOut(now, step);
    if (step.kind === "delete") return `*** Delete File: ${step.path}\n`;
    if (step.kind === "move") return `*** Update File: ${step.path}\n*** Move to: ${step.to}\n`;
    if (step.kind !== "write") return "";
    return `${old === undefined ? "" : `*** Delete File: ${step.path}\n`}*** Add File: ${step.path}\n${lines("+", step.text)}`;
  });
  return `*** Begin Patch\n${parts.join("")}*** End Patch\n`;
}

/** As git writes it. */
function toDiff(before: Kept, after: Kept): string {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-diff-"));
  const git = (...args: string[]) =>
    spawnSync(
      "git",
      ["-c", "core.quotepath=true", "-c", "user.name=T", "-c", "user.email=t@example.com", ...args],
      {
        cwd: folder,
        encoding: "latin1",
      },
    ).stdout;
  git("init", "-q");
  lay(folder, before);
  git("add", "-A");
  for (const name of readdirSync(folder)) if (name !== ".git") removeTree(join(folder, name));
  git("commit", "-q", "--allow-empty", "-m", "before");
  lay(folder, after);
  git("add", "-A");
  const diff = utf8(git("diff", "--cached", "--binary", "-M"));
  removeTree(folder);
  return diff;
}

function lay(root: string, kept: Kept): void {
  for (const [path, { text, runs }] of kept) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), Buffer.from(text, "latin1"));
    chmodSync(join(root, path), runs ? 0o755 : 0o644);
  }
}

/** Every file below a folder, but for git's own, and the folders, which an undo restores too. */
export function keptIn(root: string): { readonly files: Kept; readonly folders: readonly string[] } {
  const files = new Map<string, KeptFile>();
  const folders: string[] = [];
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(root.length + 1);
    if (/^\.git(?:\/|$)/.test(path)) continue;
    if (entry.isDirectory()) folders.push(path);
    else
      files.set(path, {
        text: readFileSync(join(root, path)).toString("latin1"),
        runs: (lstatSync(join(root, path)).mode & 0o100) !== 0,
      });
  }
  return { files, folders: folders.sort() };
}

/** Rows in which each value of each dimension is met. */
export function eachOnce<Row extends Readonly<Record<string, string>>>(
  dimensions: {
    readonly [Name in keyof Row]: readonly Row[Name][];
  },
): Row[] {
  const named = Object.entries(dimensions) as [string, readonly string[]][];
  const most = Math.max(...named.map(([, values]) => values.length));
  return Array.from(
    { length: most },
    (_, at) => Object.fromEntries(named.map(([name, values]) => [name, values[at % values.length]])) as Row,
  );
}

/** Rows in which every two values of two dimensions meet. */
export function pairwise<Row extends Readonly<Record<string, string>>>(
  dimensions: {
    readonly [Name in keyof Row]: readonly Row[Name][];
  },
): Row[] {
  const names = Object.keys(dimensions) as (keyof Row & string)[];
  const open = new Set<string>();
  const pair = (a: keyof Row & string, x: string, b: keyof Row & string, y: string) => `${a}=${x} ${b}=${y}`;
  for (const [i, a] of names.entries())
    for (const b of names.slice(i + 1))
      for (const x of dimensions[a]) for (const y of dimensions[b]) open.add(pair(a, x, b, y));
  const met = (row: Partial<Row>, last?: keyof Row & string) => {
    const found: string[] = [];
    for (const [i, a] of names.entries())
      for (const b of names.slice(i + 1)) {
        const [x, y] = [row[a], row[b]];
        if (x === undefined || y === undefined || (last !== undefined && a !== last && b !== last)) continue;
        const key = pair(a, x, b, y);
        if (open.has(key)) found.push(key);
      }
    return found;
  };
  const rows: Row[] = [];
  while (open.size > 0) {
    const [first = ""] = open;
    const row = Object.fromEntries(
      first.split(" ").map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]),
    ) as Partial<Row>;
    for (const name of names) {
      if (row[name] !== undefined) continue;
      const counted = dimensions[name].map((value) => ({
        value,
        gain: met({ ...row, [name]: value }, name).length,
      }));
      const most = Math.max(...counted.map(({ gain }) => gain));
      const best = counted.filter(({ gain }) => gain === most);
      // Values that serve equally well take turns.
      row[name] = best[rows.length % best.length]?.value as Row[typeof name];
    }
    for (const key of met(row)) open.delete(key);
    rows.push(row as Row);
  }
  return rows;
}

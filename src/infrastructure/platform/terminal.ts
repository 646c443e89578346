import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { findGit } from "./git-roots.ts";
import { removeTree } from "./remove-tree.ts";
import { writeAll } from "./standard-streams.ts";

type Env = Readonly<Record<string, string | undefined>>;

const MOST_FILES = 200_000;
const MOST_FOLDERS = 5_000;
const OUTPUT_MS = 5_000;
/** Larger files that a message names, and larger outputs, are not read. */
const LARGEST_FILE = 64 * 1024 * 1024;
/** A process without a parent shell is not suspended: it continues by itself. */
const GO_ON_MS = 60;

/** Git, the user's editor and the shell, as a conversation at a terminal needs them. */
export function createTerminalHost(env: Env) {
  const editor = env.VISUAL || env.EDITOR;
  const runEditor = (path: string) =>
    spawnSync("sh", ["-c", `${editor} "$1"`, "sh", path], { stdio: "inherit", env: { ...env } }).status === 0;
  return {
    async listFiles(root: string): Promise<readonly string[]> {
      const listed = await git(env, root, ["ls-files", "-co", "--exclude-standard", "-z"]);
      return listed === null ? walkFiles(root) : listed.split("\0").filter((path) => path !== "");
    },
    async branch(root: string): Promise<string> {
      const status = await git(env, root, ["status", "--porcelain=v1", "-b", "-uno"]);
      const [head = "", ...rest] = (status ?? "").split("\n");
      const name = /^## (?:No commits yet on )?([^\s.]+(?:\.[^\s.]+)*)/.exec(head)?.[1] ?? "";
      return name === "" ? "" : `${name}${rest.some((line) => line !== "") ? "*" : ""}`;
    },
    edit(text: string): string | null {
      if (editor === undefined) return null;
      const folder = mkdtempSync(join(tmpdir(), "picoclaw-message-"));
      const file = join(folder, "message.md");
      try {
        writeFileSync(file, text, { mode: 0o600 });
        return runEditor(file) ? readFileSync(file, "utf8").replace(/\n$/, "") : null;
      } finally {
        removeTree(folder);
      }
    },
    openFile: (path: string) => editor !== undefined && runEditor(path),
    readFile(path: string, folders: readonly string[]): Uint8Array | null {
      const named = path.startsWith("file://")
        ? fileURLToPath(path)
        : path.replace(/^~(?=\/)/, env.HOME ?? "~");
      for (const folder of folders) {
        const file = resolve(folder, named);
        const found = statSync(file, { throwIfNoEntry: false });
        if (found?.isFile() && found.size <= LARGEST_FILE) return readFileSync(file);
      }
      return null;
    },
    async readClipboardImage(): Promise<Uint8Array | "no-image" | "no-program"> {
      let result: "no-image" | "no-program" = "no-program";
      for (const [program, ...args] of CLIPBOARD_PROGRAMS) {
        const read = await readOutput(env, program, args);
        if (read instanceof Buffer && read.length > 0) return read;
        if (read !== "missing") result = "no-image";
      }
      return result;
    },
    suspend(onResume: () => void): void {
      const state = { done: false };
      const once = () => {
        if (state.done) return;
        state.done = true;
        process.off("SIGCONT", once);
        onResume();
      };
      process.on("SIGCONT", once);
      setTimeout(once, GO_ON_MS);
      process.kill(0, "SIGTSTP");
    },
    guardTerminal(restore: string): () => void {
      // In a session of its own it outlives this process, and it sets modes only where they are still ours: a
      // shell that edits lines has set its own by then.
      const script = `read -r word; [ "$word" = bye ] && exit; printf '%s' "$1"; sleep 0.2; case $(stty -a <&1) in *-isig*) stty sane <&1;; esac`;
      const child = spawn("sh", ["-c", script, "sh", restore], {
        stdio: ["pipe", "inherit", "ignore"],
        detached: true,
        env: { PATH: env.PATH },
      });
      child.on("error", () => {});
      child.stdin?.on("error", () => {});
      child.unref();
      return () => child.stdin?.end("bye\n");
    },
    lines: (): AsyncIterable<string> => createInterface({ input: process.stdin }),
  };
}

async function git(env: Env, root: string, args: readonly string[]): Promise<string | null> {
  // Only the folder's own repository counts.
  if (attemptOr(null, () => findGit(realpathSync(root))) === null) return null;
  // Listing an untrusted repository must not run programs that it names.
  const safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks"];
  const printed = await readOutput(env, "git", [...safe, "-C", root, ...args]);
  return printed instanceof Buffer ? printed.toString("utf8") : null;
}

/** Wayland, X11, macOS. Each fails where its clipboard has no image, or there is no such desktop. */
const CLIPBOARD_PROGRAMS = [
  ["wl-paste", "--no-newline", "--type", "image/png"],
  ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
  ["pngpaste", "-"],
] as const;

function readOutput(env: Env, program: string, args: readonly string[]) {
  const { promise, resolve } = Promise.withResolvers<Buffer | "failed" | "missing">();
  const child = spawn(program, args, {
    env: { ...env },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: OUTPUT_MS,
    killSignal: "SIGKILL",
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LARGEST_FILE) child.kill("SIGKILL");
    else chunks.push(chunk);
  });
  child.on("error", () => resolve("missing"));
  child.on("close", (code) => resolve(code === 0 ? Buffer.concat(chunks) : "failed"));
  return promise;
}

function walkFiles(root: string): string[] {
  const files: string[] = [];
  const folders = [""];
  for (let at = 0; at < folders.length && at < MOST_FOLDERS && files.length < MOST_FILES; at++) {
    const folder = folders[at] as string;
    try {
      for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
        if (entry.name === ".git" || entry.name === "node_modules") continue;
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory()) folders.push(path);
        else if (entry.isFile()) files.push(path);
      }
    } catch {
      // A folder that cannot be read has no files to name.
    }
  }
  return files;
}

/** Shows a text page by page: `PICOCLAW_PAGER`, git's `core.pager`, `PAGER`, else `less`. Where that is `cat` or empty, writes it. */
export function showInPager(text: string, env: Env): void {
  const pager = env.PICOCLAW_PAGER ?? env.GIT_PAGER ?? gitPager(env) ?? env.PAGER ?? "less";
  if (pager.trim() === "" || pager.trim() === "cat") {
    writeAll(1, text);
    return;
  }
  const ran = spawnSync("sh", ["-c", pager], {
    input: text,
    stdio: ["pipe", "inherit", "inherit"],
    env: { LESS: "FRX", LV: "-c", ...env },
  });
  // 127: there is no such program.
  if (ran.error !== undefined || ran.status === 127) writeAll(1, text);
}

/** Of the user's own configuration alone: one of the repository would be a stranger's program. */
function gitPager(env: Env): string | undefined {
  const asked = spawnSync("git", ["config", "--global", "core.pager"], { env: { ...env }, encoding: "utf8" });
  return asked.status === 0 ? asked.stdout.trim() : undefined;
}

/** Opens a web address in the user's browser, where this machine has a screen. Does not wait for it. */
export function openInBrowser(address: string, env: Env): void {
  const hasScreen = process.platform === "darwin" || env.DISPLAY || env.WAYLAND_DISPLAY;
  if (!hasScreen || !/^https?:\/\//.test(address)) return;
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [address], { stdio: "ignore", detached: true, env: { ...env } });
  child.on("error", () => {});
  child.unref();
}

/** Asks at the terminal and waits for a line; null when the terminal ends, or at Ctrl-C. */
export function askLine(question: string, { isHidden = false } = {}): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  // The interface itself echoes typed text; without an output there is no echo.
  const shown = isHidden
    ? { output: new Writable({ write: (_, __, done) => done() }), terminal: true }
    : { output: process.stdout };
  const terminal = createInterface({ input: process.stdin, ...shown });
  // The interface holds the terminal by now: what is typed ahead is not echoed either.
  if (isHidden) process.stdout.write(question);
  let answered = false;
  terminal.on("close", () => {
    if (isHidden && !answered) process.stdout.write("\n");
    resolve(null);
  });
  terminal.on("SIGINT", () => terminal.close());
  terminal.question(isHidden ? "" : question, (line) => {
    answered = true;
    if (isHidden) process.stdout.write("\n");
    resolve(line);
    terminal.close();
  });
  return promise;
}

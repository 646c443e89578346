import { spawn } from "node:child_process";
import type { BlamedLine } from "../../application/ports/history.ts";
import { gitProgram, ISOLATED_GIT_ENV } from "../jobs/git-roots.ts";

export interface GitAnswer {
  readonly code: number | null;
  readonly bytes: Buffer;
}

/** Asks the repository of a folder; `code` is null where there is no git, or it was ended. */
export type AskGit = (
  args: readonly string[],
  more?: { readonly input?: string; readonly cwd?: string },
) => Promise<GitAnswer>;

/** Settings of a repository that would start a program, and tricks of names that would lead to one. */
const SAFE = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "safe.directory=*",
  "gc.auto=0",
  "maintenance.auto=false",
];

/** Git without the user's settings, hooks, filters of differences or a terminal. */
export function createAskGit(folder: string, path: string, scratch: string): AskGit {
  const folders = path.split(":").filter((one) => one.startsWith("/"));
  const program = gitProgram(folders, [folder]);
  return async (args, { input, cwd = folder } = {}) => {
    if (program === null) return { code: null, bytes: Buffer.alloc(0) };
    const { promise, resolve } = Promise.withResolvers<GitAnswer>();
    const child = spawn(program, [...SAFE.flatMap((one) => ["-c", one]), ...args], {
      cwd,
      env: { ...ISOLATED_GIT_ENV, ...IDENTITY, PATH: path, HOME: scratch, LC_ALL: "C" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    child.once("error", () => resolve({ code: null, bytes: Buffer.alloc(0) }));
    child.once("close", (code) => resolve({ code, bytes: Buffer.concat(pieces) }));
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
    return promise;
  };
}

const IDENTITY = {
  GIT_AUTHOR_NAME: "PicoClaw",
  GIT_AUTHOR_EMAIL: "picoclaw@localhost",
  GIT_COMMITTER_NAME: "PicoClaw",
  GIT_COMMITTER_EMAIL: "picoclaw@localhost",
} as const;

/** The commit of a line of the file as it is now; null for a line that is in no commit. */
export async function blameLine(git: AskGit, path: string, line: number): Promise<BlamedLine | null> {
  const { code, bytes } = await git(["blame", "--porcelain", "-L", `${line},${line}`, "--", path]);
  if (code !== 0) return null;
  const lines = bytes.toString().split("\n");
  const [commit = ""] = (lines[0] ?? "").split(" ");
  if (/^0+$/.test(commit)) return null;
  const field = (name: string) =>
    lines.find((one) => one.startsWith(`${name} `))?.slice(name.length + 1) ?? "";
  const at = new Date(Number(field("author-time")) * 1000).toISOString();
  return { commit, author: field("author"), at, subject: field("summary") };
}

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createBench, type TransactionBench } from "../contracts/transaction-bench.ts";
import { git, sh } from "./fidelity-workspace.ts";

/** A repository with two commits and two branches, and a workspace somewhere in or beside it. */
export interface GitBench extends TransactionBench {
  /** Runs git in the workspace, as the user does. */
  git(...args: string[]): string;
  /** A job that runs a script where processes of the job run; committed. */
  script(script: string): Promise<string>;
  /** HEAD, all refs and what the index lists. */
  state(): { head: string; refs: string; index: string };
  fsck(): string;
}

export type Shape = "repository" | "subfolder" | "worktree" | "submodule";

export function createGitBench(shape: Shape): GitBench {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-git-")));
  const workspaceAt = layOut(folder, shape);
  const bench = createBench("copy", { folder, workspaceAt });
  const { workspace } = bench;
  return {
    ...bench,
    git: (...args) => git(workspace, ...args),
    script: (script) =>
      bench.apply(
        (_, { directory }) =>
          void sh(
            directory as string,
            `export GIT_AUTHOR_NAME=J GIT_AUTHOR_EMAIL=j@e GIT_COMMITTER_NAME=J GIT_COMMITTER_EMAIL=j@e\n${script}`,
          ),
      ),
    state: () => ({
      head: readHead(workspace),
      refs: git(workspace, "for-each-ref", "--format=%(refname) %(objectname)"),
      index: git(workspace, "ls-files", "-s"),
    }),
    fsck: () => git(workspace, "fsck", "--strict", "--no-dangling", "--no-progress"),
  };
}

function readHead(workspace: string): string {
  return readFileSync(resolve(workspace, git(workspace, "rev-parse", "--git-path", "HEAD").trim()), "utf8");
}

function layOut(folder: string, shape: Shape): string {
  const main = join(folder, "main");
  mkdirSync(main);
  write(main, "a.txt", "a\n");
  write(main, "sub/b.txt", "b\n");
  git(main, "init", "-q", "-b", "main");
  git(main, "add", "-A");
  git(main, "commit", "-q", "-m", "one");
  git(main, "branch", "other");
  write(main, "a.txt", "a2\n");
  git(main, "commit", "-q", "-am", "two");
  switch (shape) {
    case "repository":
      return "main";
    case "subfolder":
      return "main/sub";
    case "worktree":
      git(main, "worktree", "add", "-q", "-b", "tree", join(folder, "tree"));
      return "tree";
    case "submodule": {
      const upper = join(folder, "upper");
      mkdirSync(upper);
      git(upper, "init", "-q", "-b", "main");
      git(upper, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", main, "module");
      git(upper, "commit", "-q", "-m", "with a module");
      return "upper/module";
    }
  }
}

function write(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** Files below a folder whose bytes contain a text; logs of git are allowed to. */
export function filesSaying(folder: string, said: string): string[] {
  const found: string[] = [];
  const visit = (at: string) => {
    if (!existsSync(at)) return;
    for (const entry of readdirSync(at, { withFileTypes: true })) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) {
        if (entry.name !== "logs" && entry.name !== "home") visit(path);
      } else if (entry.isFile() && readFileSync(path).includes(said)) found.push(path);
    }
  };
  visit(folder);
  return found;
}

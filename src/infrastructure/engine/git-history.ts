import type { GitHistory } from "../../application/ports/jobs-transaction.ts";
import { systemGit } from "./system-git.ts";

/** Long enough for the history of a large project; what cannot be found in it was not there. */
const TIME_MS = 20_000;

/**
 * Asks the workspace's own repository, which a job never touches, by a git that reads no settings but those of that
 * repository. Seldom needed: only for a protected file that the index lists as it is.
 */
export function createGitHistory(gitDirectory: string): GitHistory {
  const ask = (...args: string[]): string | null => {
    const git = systemGit();
    if (git === null) return null;
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    const ran = spawnSync(git.program, ["--git-dir", gitDirectory, ...args], {
      cwd: "/",
      env: { ...git.env, GIT_LITERAL_PATHSPECS: "1", GIT_OPTIONAL_LOCKS: "0", GIT_NO_LAZY_FETCH: "1" },
      encoding: "utf8",
      timeout: TIME_MS,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return ran.status === 0 ? ran.stdout : null;
  };
  return {
    at(commit, path) {
      const listed = ask("ls-tree", "-z", "--full-tree", commit, "--", path);
      if (listed === null) return "unknown";
      return /^\d+ blob ([0-9a-f]+)\t/.exec(listed)?.[1] ?? "nothing";
    },
    had(path, object) {
      const search = [
        "--all",
        "HEAD",
        "--full-history",
        "-m",
        "-1",
        "--format=%H",
        `--find-object=${object}`,
      ];
      return (ask("log", "--no-show-signature", ...search, "--", path) ?? "").trim() !== "";
    },
  };
}

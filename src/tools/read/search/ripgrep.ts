import type { RunProgram } from "../../tool-context.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import { ToolError } from "../../tool-error.ts";
import { toRipgrepPattern } from "./ripgrep-pattern.ts";
import { byPath, LARGEST_BYTES } from "./search-files.ts";

export interface RipgrepQuery {
  readonly pattern: string;
  readonly ignoreCase: boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

const NO_MATCHES = 1;

/**
 * Files that may hold a match, found by ripgrep: never fewer than there are. Null where it is not installed, or the
 * pattern means something else to it; then every file is looked into.
 */
export async function filesByRipgrep(
  runProgram: RunProgram,
  { workspace: { root }, path }: ResolvedPath,
  { pattern, ignoreCase, signal, timeoutMs }: RipgrepQuery,
): Promise<readonly string[] | null> {
  const translated = toRipgrepPattern(pattern, ignoreCase);
  if (translated === null) return null;
  try {
    const { exitCode, stdout } = await runProgram({
      argv: [
        "rg",
        ...[
          "--no-config",
          "--files-with-matches",
          "--null",
          "--text",
          "--no-messages",
          "--no-ignore",
          "--hidden",
        ],
        ...[
          "--no-follow",
          "--max-filesize",
          String(LARGEST_BYTES),
          "--glob",
          "!.git",
          "--glob",
          "!.picoclaw",
          "--glob",
          "!.picoclaw-????????????????",
        ],
        ignoreCase ? "--ignore-case" : "--case-sensitive",
        ...["-e", translated, "--", path === "" ? "." : `./${path}`],
      ],
      cwd: root,
      timeoutMs,
      signal,
    });
    if (exitCode !== 0 && exitCode !== NO_MATCHES) return null;
    const names = Buffer.from(stdout).toString("utf8").split("\0");
    return names
      .filter((name) => name !== "")
      .map((name) => name.replace(/^\.\//, ""))
      .sort(byPath);
  } catch (error) {
    if (error instanceof ToolError && error.code === "REFUSED") return null;
    throw error;
  }
}

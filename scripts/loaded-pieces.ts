import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Names of the pieces that a run of the program loaded, without its entry. */
export interface LoadedPieces {
  readonly edit: ReadonlySet<string>;
  readonly jobs: ReadonlySet<string>;
  readonly help: ReadonlySet<string>;
}

/**
 * Runs a bundle in a folder of its own, with a patch of one edit, for the list of its jobs and for its help, and says what
 * each loaded. None where it cannot run here: the bundle serves as it is.
 */
export function loadedPieces(main: string): LoadedPieces {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-bundle-"));
  const workspace = join(folder, "ws");
  mkdirSync(workspace);
  writeFileSync(join(workspace, "a.txt"), "before\n");
  const patch = join(folder, "patch.json");
  const list = join(folder, "loaded");
  const tell = join(folder, "tell.cjs");
  writeFileSync(
    patch,
    JSON.stringify([{ type: "file_edit", action: "update", target: "a.txt", content: "a\n" }]),
  );
  writeFileSync(
    tell,
    `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(list)}, Object.keys(require.cache).join("\\n")));`,
  );
  const run = (...args: string[]): ReadonlySet<string> => {
    const { exitCode } = Bun.spawnSync(
      [process.execPath, "--no-env-file", "--preload", tell, main, ...args],
      {
        cwd: workspace,
        env: { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: join(folder, "home") },
        stdio: ["ignore", "ignore", "ignore"],
      },
    );
    if (exitCode !== 0) return new Set();
    const names = readFileSync(list, "utf8")
      .split("\n")
      .map((path) => basename(path));
    return new Set(names.filter((name) => /^chunk-.*\.js$/.test(name)));
  };
  try {
    return { edit: run("apply", patch), jobs: run("jobs"), help: run("--help") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

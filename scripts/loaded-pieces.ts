import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** What people mostly start, the smallest first. */
export const RUNS = ["edit", "jobs", "chat", "serve", "help"] as const;
export type Run = (typeof RUNS)[number];

const PIECE = /^chunk-.*\.js$/;
/** A server that does not say in this time where it listens is given up. */
const PATIENCE_MS = 30_000;
const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];
const PROPOSAL =
  "## Plan\nCreate b.txt.\n\n## Patch\n```text:b.txt\nb\n```\n\n## Risk\nlow\n\n## CostHint\nlow\n";

/**
 * Runs a bundle in a folder of its own: with a patch of one edit, for the list of its jobs, with a message that ends in one
 * edit, as a server and for its help. Says which pieces each run loaded; none where it cannot run here, and the bundle serves as it is.
 */
export async function loadedPieces(main: string): Promise<ReadonlyMap<Run, ReadonlySet<string>>> {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-bundle-"));
  const [workspace, home, list] = ["ws", "home", "loaded"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(workspace);
  writeFileSync(join(workspace, "a.txt"), "before\n");
  const patch = join(folder, "patch.json");
  writeFileSync(
    patch,
    JSON.stringify([{ type: "file_edit", action: "update", target: "a.txt", content: "a\n" }]),
  );
  const tell = join(folder, "tell.cjs");
  writeFileSync(
    tell,
    `process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(list)}, Object.keys(require.cache).join("\\n")));`,
  );

  async function run(...args: string[]): Promise<ReadonlySet<string>> {
    rmSync(list, { force: true });
    const child = Bun.spawn([process.execPath, "--no-env-file", "--preload", tell, main, ...args], {
      cwd: workspace,
      env: { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: home },
      stdio: ["ignore", "pipe", "ignore"],
      timeout: PATIENCE_MS,
    });
    let stops = args[0] === "serve";
    for await (const _ of child.stdout) {
      if (stops) child.kill("SIGTERM");
      stops = false;
    }
    if ((await child.exited) !== 0) {
      console.error(`picoclaw: the bundle was not tried with "${args[0]}": its pieces stay apart`);
      return new Set();
    }
    const names = readFileSync(list, "utf8").split("\n");
    return new Set(names.map((path) => basename(path)).filter((name) => PIECE.test(name)));
  }

  try {
    const loaded = new Map<Run, ReadonlySet<string>>();
    loaded.set("edit", await run("apply", patch));
    loaded.set("jobs", await run("jobs"));
    loaded.set("help", await run("--help"));
    answerByScript(home);
    loaded.set("chat", await run("chat", "Create b.txt containing b."));
    loaded.set("serve", await run("serve", "--port", "0", "--json"));
    return loaded;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A configuration in which a script takes the place of every model. */
function answerByScript(home: string): void {
  const roles = ROLES.map((role) => `  ${role}: { provider: demo, model: demo }\n`);
  mkdirSync(home, { recursive: true });
  writeFileSync(
    join(home, "config.yaml"),
    `providers:\n  demo: { type: scripted, model: demo, script: script.json, local: true }\nroles:\n${roles.join("")}`,
  );
  writeFileSync(join(home, "script.json"), JSON.stringify({ answers: [{ text: PROPOSAL }] }));
}

/**
 * Pieces that the same runs load, under the name of the first of them: what is read together lies together, and no run reads
 * what it does not use. But for the edit, which has everything in one file: it is over before a second one is read.
 */
export function piecesByRuns(
  loaded: ReadonlyMap<Run, ReadonlySet<string>>,
): { run: Run; pieces: Set<string> }[] {
  const groups = new Map<string, { run: Run; pieces: Set<string> }>();
  for (const piece of new Set([...loaded.values()].flatMap((pieces) => [...pieces]))) {
    const users = RUNS.filter((run) => loaded.get(run)?.has(piece));
    const [run] = users;
    if (run === undefined) continue;
    const key = run === "edit" ? run : users.join(" ");
    const group = groups.get(key) ?? { run, pieces: new Set<string>() };
    groups.set(key, group);
    group.pieces.add(piece);
  }
  return [...groups.values()];
}

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** What people mostly start, the smallest first. */
export const RUNS = ["edit", "jobs", "chat", "serve", "help", "japanese"] as const;
export type Run = (typeof RUNS)[number];

const PIECE = /^chunk-.*\.js$/;
/** A server that does not say in this time where it listens is given up. */
const PATIENCE_MS = 30_000;
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

  const model = answerAlways();
  async function run(args: readonly string[], locale = "en"): Promise<ReadonlySet<string>> {
    rmSync(list, { force: true });
    const child = Bun.spawn([process.execPath, "--no-env-file", "--preload", tell, main, ...args], {
      cwd: workspace,
      env: {
        PATH: process.env.PATH ?? "",
        HOME: folder,
        PICOCLAW_HOME: home,
        PICOCLAW_LOCALE: locale,
        ANTHROPIC_API_KEY: "none",
        PICOCLAW_PROVIDERS_CLAUDE_BASE_URL: model.url.origin,
      },
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
    const message = ["chat", "Create b.txt containing b."];
    loaded.set("edit", await run(["apply", patch]));
    loaded.set("jobs", await run(["jobs"]));
    loaded.set("help", await run(["--help"]));
    // The second message has a chat and a job before it.
    loaded.set("chat", (await run(message)).union(await run(message)));
    loaded.set("japanese", await run(message, "ja"));
    loaded.set("serve", await run(["serve", "--port", "0", "--json"]));
    return loaded;
  } finally {
    await model.stop(true);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A model that gives the same proposal to whoever asks, as Anthropic's API would stream it. */
function answerAlways() {
  const events = [
    { type: "message_start", message: { role: "assistant", content: [], usage: {} } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: PROPOSAL } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const headers = { "content-type": "text/event-stream" };
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(events.join(""), { headers }),
  });
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

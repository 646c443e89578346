import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createWorld, type Shown, startProgram, type TerminalWorld } from "./terminal-kit.ts";

let world: TerminalWorld;
const open: Shown[] = [];
beforeEach(() => {
  world = createWorld("answers: []\n");
});
afterEach(async () => {
  for (const shown of open.splice(0)) await shown.close();
  world.remove();
});

const edit = { type: "file_edit", action: "create", target: "long-name.txt", content: "one\ntwo\n" };

function run(
  args: readonly string[],
  options: { columns?: number; env?: Record<string, string> } = {},
): Shown {
  const env = { PAGER: "cat", ...options.env };
  const shown = startProgram(world, { args, rows: 40, columns: options.columns ?? 60, env });
  open.push(shown);
  return shown;
}

/** Its output at a terminal of so many columns. */
async function look(args: readonly string[], options: Parameters<typeof run>[1] = {}) {
  const shown = run(args, options);
  const code = await shown.child.exited;
  await shown.settled();
  return { code, text: shown.all(), raw: shown.sent.raw };
}

function piped(...args: string[]): string {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: world.folder,
    PICOCLAW_HOME: world.home,
    PICOCLAW_LOCALE: "en",
  };
  return Bun.spawnSync(["bin/picoclaw", "--workspace", world.workspace, ...args], {
    cwd: `${import.meta.dir}/../..`,
    env,
  }).stdout.toString();
}

describe("what commands print at a terminal", () => {
  test("apply, jobs, show and undo share the look of the card, within the window; a pipe gets plain text", async () => {
    world.write("p.json", JSON.stringify([edit]));
    const applied = await look(["apply", "p.json"]);
    expect(applied.text).toContain("\n✓ Applied\n");
    expect(applied.text).toContain("git_operation: 0)");
    const jobs = await look(["jobs"]);
    expect(jobs.text).toMatch(/^✓ #1 {2}\d\d-\d\d \d\d:\d\d {2}Applied {2}±1 {2}create long-name\.txt/);
    const shown = await look(["show", "1"]);
    expect(shown.text).toStartWith(
      "● create long-name.txt  #1\n  long-name.txt  +2\n    1 + one\n    2 + two",
    );
    expect((await look(["undo", "1"])).text).toStartWith("↶ Undone");
    for (const { raw, text } of [applied, jobs, shown]) {
      expect(raw).toContain("\x1b[3");
      for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
    }
    for (const args of [["jobs"], ["show", "1"], ["show", "1", "--diff"]])
      expect(piped(...args)).not.toContain("\x1b");
    expect(piped("jobs")).toMatch(/^Job +Time +Result/);
    expect(piped("show", "1")).toStartWith("Undone\n\nJob: #1");
  });

  test("NO_COLOR has the signs without colours, TERM=dumb is as through a pipe", async () => {
    world.write("p.json", JSON.stringify([edit]));
    await look(["apply", "p.json"]);
    const plain = await look(["jobs"], { env: { NO_COLOR: "1" } });
    expect(plain.text).toStartWith("✓ #1");
    expect(plain.raw).not.toMatch(/\x1b\[(?:3[0-7]|4[0-8]|9[0-7])[;m]/);
    const dumb = await look(["jobs"], { env: { TERM: "dumb" }, columns: 120 });
    expect(dumb.raw).not.toContain("\x1b");
    expect(dumb.text).toStartWith("Job ");
  });

  test("a pager of git's kind gets it", async () => {
    world.write("p.json", JSON.stringify([edit]));
    await look(["apply", "p.json"]);
    const env = { GIT_PAGER: "sed 's/^/paged: /'" };
    expect((await look(["show", "1"], { env })).text).toStartWith("paged: ");
  });
});

describe("work that a person waits for", () => {
  test("after two seconds the line says for how long, and ctrl-c ends with 130 and leaves nothing", async () => {
    world.write(
      "p.json",
      JSON.stringify([{ type: "shell_command", action: "run", target: "touch made; sleep 60" }]),
    );
    const shown = run(["apply", "p.json"]);
    await shown.until(/sleep 60 · 3 s/);
    shown.type("\x03");
    expect(await shown.child.exited).toBe(130);
    expect(() => world.read("made")).toThrow();
    expect(shown.screen()).not.toContain("· 3 s");
  });
});

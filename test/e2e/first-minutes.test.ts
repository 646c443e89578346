/** A stranger's first minutes, from a checkout: what the README says is typed, and has to come true in time. */

import { afterAll, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { drawRecording, recordSession } from "../../scripts/record-session.ts";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { signIn } from "../adapters/web/web-kit.ts";
import { startModelServer } from "../fakes/model-server/server.ts";
import { requirePart } from "../require.ts";

const ROOT = join(import.meta.dir, "../..");
const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-first-")));
const project = join(folder, "project");
const home = join(folder, "home");
for (const made of [project, home]) mkdirSync(made);
const started: ChildProcess[] = [];
afterAll(() => {
  for (const { pid, exitCode, signalCode } of started)
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
  removeTree(folder);
});

function begin(command: string, cwd: string, env: Readonly<Record<string, string>> = {}) {
  const child = spawn("sh", ["-c", `exec ${command}`], {
    cwd,
    env: { PATH: `${join(ROOT, "bin")}:${process.env.PATH}`, HOME: home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // npm starts the program as a child; a group of their own ends together.
    detached: true,
  });
  started.push(child);
  const said = { text: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes) => {
      said.text += String(bytes);
    });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  return { child, said, ended };
}

const type = async (command: string, env?: Readonly<Record<string, string>>) => {
  const { said, ended } = begin(command, project, env);
  const code = await ended;
  return { code, text: said.text };
};

test("the first undone job, within a minute", async () => {
  const { code, text } = await type("picoclaw demo");
  expect(text).toContain("files are back, byte for byte");
  expect(code).toBe(0);
}, 300_000);

test.if(requirePart("bwrap"))(
  "the recordings in the READMEs show what the program shows: each step of the session ends on the same screen",
  async () => {
    for (const [language, name] of [
      ["en", "session.svg"],
      ["ja", "session.ja.svg"],
    ] as const) {
      const recorded = readMoments(readFileSync(join(ROOT, "docs/images", name), "utf8"));
      expect(recorded).toHaveLength(3);
      expect(readMoments(drawRecording(await recordSession(language)))).toEqual(recorded);
    }
  },
  300_000,
);

/** The screens on which a recording rests; times and versions are those of its day. */
function readMoments(svg: string): string[] {
  const rows = new Map(
    [...svg.matchAll(/<g id="(r\d+)">(.*?)<\/g>/g)].map(([, id = "", row = ""]) => [id, row]),
  );
  return [...svg.matchAll(/<g class="moment"[^>]*>(.*?)<\/g>/g)].map(([, uses = ""]) =>
    [...uses.matchAll(/#(r\d+)"/g)]
      .map(([, id = ""]) => (rows.get(id) ?? "").replace(/<[^>]*>/g, "").trimEnd())
      // The row below the line follows the branch and the tokens in its own time.
      .filter((row) => !row.includes("demo/demo ·"))
      .join("\n")
      .replace(/(?:\d+ (?:min|分) )?\d+ (?:s|秒)/g, "N s")
      .replace(/picoclaw \d\S+/g, "picoclaw N"),
  );
}

test("the console, within a minute and a half: npm start, the link, its button", async () => {
  const { child, said, ended } = begin("npm start -- --port 0", ROOT);
  const link = await new Promise<string>((resolve) => {
    const look = () => {
      const found = /http:\/\/127\.0\.0\.1:\d+\/login\/\S+/.exec(said.text)?.[0];
      if (found !== undefined) resolve(found);
      else setTimeout(look, 50);
    };
    look();
  });
  const visitor = await signIn(link);
  expect(visitor.first.status).toBe(303);
  expect(await (await visitor.get("/chat/operator")).text()).toContain("picoclaw init");
  process.kill(-(child.pid as number), "SIGTERM");
  await ended;
}, 300_000);

test("the first edit by a key, within five minutes: init, a message, undo", async () => {
  const model = await startModelServer({
    offered: ["claude-stub-1"],
    script: ({ body }) =>
      JSON.stringify(body).includes("greet")
        ? {
            text: '## Plan\nGreet.\n\n## Patch\n```python:hello.py\nprint("hello, you")\n```\n\n## Risk\nlow\n',
          }
        : { text: "OK" },
  });
  const env = { ANTHROPIC_API_KEY: "sk-ant-stub-0123456789", ANTHROPIC_BASE_URL: model.url };
  writeFileSync(join(project, "hello.py"), 'print("hello")\n');
  const set = await type("picoclaw init --yes", env);
  expect([set.code, set.text]).toEqual([0, expect.any(String)]);
  const done = await type('picoclaw chat "/code greet by name in hello.py"', env);
  expect(done.text).toContain("M hello.py");
  expect(readFileSync(join(project, "hello.py"), "utf8")).toBe('print("hello, you")\n');
  expect((await type("picoclaw undo", env)).code).toBe(0);
  expect(readFileSync(join(project, "hello.py"), "utf8")).toBe('print("hello")\n');
  await model.stop();
}, 300_000);

/** The user's own agents as contestants, through the real program: stubs that speak the streams of the real ones. */
import { afterEach, expect } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createHeadProject, type HeadCli } from "./head-kit.ts";
import { withChecks } from "./node-project.ts";

let cli: HeadCli;
afterEach(() => cli.remove());

const ADD = "export const add = (a, b) => a + b;\n";
const TEST = `import { test } from "node:test";
import assert from "node:assert";
import * as math from "../src/math.mjs";
test("adds", () => assert.equal(math.add(1, 2), 3));
`;
const DOUBLE_TEST = 'test("doubles", () => assert.equal(math.double(4), 8));\n';
const REQUEST = "src/math.mjs needs double(a), which returns twice its argument";

/** Words of the user's own notes for each agent, which no contestant may see. */
const NOTES = "double(a) is a * 2 in this house";

const double = (body: string) => `printf 'export const double = (a) => ${body};\\n' >> src/math.mjs`;
/** Claude's stub solves the case, and codex' does not; the first shows what it finds in its home, too. */
const TURN = {
  sh: [
    `if [ -n "$ANTHROPIC_API_KEY" ]; then ${double("2 * a")}; else ${double("a")}; fi`,
    "grep -rl 'in this house' $HOME > found.txt; ls $HOME/.stub | grep session | wc -l >> found.txt",
  ],
};

async function openProject(more: { readonly limit?: number } = {}) {
  cli = await createHeadProject({
    ...more,
    turns: [TURN],
    stubs: ["claude", "codex"],
    files: { "src/math.mjs": ADD, "test/math.test.mjs": TEST },
  });
  const user = join(cli.folder, "user");
  mkdirSync(join(user, ".codex"), { recursive: true });
  mkdirSync(join(user, ".claude"), { recursive: true });
  writeFileSync(join(user, ".claude/CLAUDE.md"), NOTES);
  writeFileSync(join(user, ".codex/AGENTS.md"), NOTES);
  writeFileSync(
    join(user, ".codex/config.toml"),
    `model_provider = "mine"\n[model_providers.mine]\nname = "mine"\nbase_url = "${cli.address}/v1"\nwire_api = "responses"\n`,
  );
}

function commitCase() {
  cli.write("src/math.mjs", `${ADD}export const double = (a) => a + a;\n`);
  cli.write("test/math.test.mjs", TEST + DOUBLE_TEST);
  cli.git("add", "-A");
  cli.git("-c", "user.name=T", "-c", "user.email=t@example.com", "commit", "-qm", REQUEST);
}

const run = (...args: readonly string[]) => cli.runAsync(args, cli.env);

withChecks(
  "two agents play a case, each in a new home, without notes and web tools",
  async () => {
    await openProject();
    commitCase();
    const ran = await run("compare", "claude-code", "codex-cli", "--json");
    expect(ran.err).toBe("");
    const { contestants, differing } = JSON.parse(ran.out);
    expect(contestants).toMatchObject([
      { name: "claude-code", plays: 1, solved: 1, verified: 1, requests: 1, tokens: 110, usd: 0.01 },
      { name: "codex-cli", plays: 1, solved: 0, false_done: 1, requests: 1, tokens: 220, usd: null },
    ]);
    const [{ plays }] = differing as [{ plays: { contestant: string; diff: string }[] }];
    for (const { diff } of plays) expect(diff).not.toContain("+/");
    expect(plays.find(({ contestant }) => contestant === "claude-code")?.diff).toContain("\n+1\n");
    const calls = cli.asked.map(({ headers }) => String(headers["x-args"]));
    expect(calls.filter((args) => args.includes("--disallowedTools WebSearch,WebFetch"))).toHaveLength(1);
    expect(calls.filter((args) => args.includes('web_search="disabled"'))).toHaveLength(1);
  },
  280_000,
);

withChecks(
  "an agent's own job counts neither for nor against it, with any settings",
  async () => {
    await openProject();
    cli.plays([{ sh: [double("2 * a"), `echo '${DOUBLE_TEST.trim()}' >> test/math.test.mjs`] }]);
    expect(await cli.send(`/head claude-code ${REQUEST}, with a test`)).toMatchObject({ code: 0, err: "" });
    expect((await run("why", "src/math.mjs:2")).out).toMatch(
      /By: claude-code, chat in the terminal\nPlan:\n {2}done/,
    );
    cli.plays([{ sh: [double("a")] }]);
    const { cases } = JSON.parse((await run("compare", "cases", "--json")).out);
    expect(cases).toMatchObject([{ producers: ["claude-code"] }]);
    const ran = await run("compare", "claude-code,coder.attempts=2", "codex-cli", "--json");
    expect([ran.err, JSON.parse(ran.out).contestants]).toMatchObject([
      "",
      [
        { name: "claude-code,coder.attempts=2", plays: 0 },
        { name: "codex-cli", plays: 1 },
      ],
    ]);
  },
  280_000,
);

withChecks(
  "a server's limit in the middle of the work does not count as a play, and the same command tries it again",
  async () => {
    await openProject({ limit: 1 });
    commitCase();
    cli.plays([{ sh: ["printf 'x' >> src/math.mjs"] }, { sh: [double("2 * a")] }]);
    const ran = await run("compare", "claude-code");
    expect(ran.err).toMatch(/! claude-code: commit:\w+ not played: .*in the middle of the work \(429\)/);
    expect(ran.out).toMatch(/claude-code +0 +0\/0[\s\S]*The same command tries them again/);
    expect(ran.code).toBe(1);
  },
  280_000,
);

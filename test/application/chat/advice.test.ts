/** A step that only advises or proves may fail; the job may not. */
import { afterEach, describe, expect, test } from "bun:test";
import { type Advise, createAdvise } from "../../../src/application/platform/advise.ts";
import type { Logger } from "../../../src/application/ports/platform.ts";
import { QUICK_NODE_PATH } from "../../quick-npm.ts";
import { requirePart, runs } from "../../require.ts";
import { createSolveKit, DONE, PLAN, shell } from "../tasks/solve-kit.ts";
import { proposal } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

function recordingLog() {
  const lines: string[] = [];
  const write = (_: string, __: string, event: string, fields: object = {}) =>
    void lines.push(`${event} ${JSON.stringify(fields)}`);
  const log: Logger = { debug: write, info: write, warn: write, error: write };
  return { log, lines };
}

/** The real guard, in which one step throws; it keeps the names of all steps. */
function failingAt(failing: string | null, log: Logger) {
  const real = createAdvise(log);
  const seen = new Set<string>();
  const advise: Advise = (step, otherwise, run) => {
    seen.add(step);
    return real(step, otherwise, (): ReturnType<typeof run> => {
      if (step === failing) throw new Error("the adviser broke");
      return run();
    });
  };
  return { advise, seen };
}

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

const ADD = "export const add = (a, b) => a - b;\nexport const twice = (a) => add(a, a);\n";
const TEST = `import { test } from "node:test";
import assert from "node:assert";
import { add } from "../src/add.mjs";
test("adds nothing", () => assert.equal(add(1, 0), 1));
`;
const NEW_TEST = `${TEST}test("adds", () => assert.equal(add(1, 2), 3));\n`;

async function openProject(
  advise: Advise,
  config: string,
  answer: Parameters<typeof openConversation>[0],
): Promise<OpenedConversation> {
  const at = await openConversation(answer, {
    config: `security: { local_only: false }\n${config}`,
    env: { PATH: QUICK_NODE_PATH },
    local: false,
    advise,
  });
  open.push(() => at.close());
  at.write("package.json", JSON.stringify({ type: "module", scripts: { test: "node --test" } }));
  at.write("CHANGELOG.md", "# Unreleased\n\n- nothing\n");
  at.write("src/add.mjs", ADD);
  at.write("src/other.mjs", `// ${"long ".repeat(6_000)}\nexport const other = 1;\n`);
  at.write("test/add.test.mjs", TEST);
  return at;
}

const written = (sign: string) => `\`\`\`js:src/add.mjs\n${ADD.replace("a - b", `a ${sign} b`)}\`\`\``;
const FIX = proposal("Adds", `${written("+")}\n\n\`\`\`js:test/add.test.mjs\n${NEW_TEST}\`\`\``);
const WRONG = proposal("Adds", written("*"));
const NOTHING_LEFT = proposal("Nothing is left to do; I leave `twice` alone.", "");
const REQUEST = "/code3 `add` in src/add.mjs is wrong, and `twice` with it";

/** Red once, so that files go back as well; then it is right, and the question about `twice` is answered. */
const coder: Parameters<typeof openConversation>[0] = (asked, at) => {
  // Without an adviser it has not seen a file that it replaces, and is asked to look first.
  const isAgain = asked.messages.at(-1)?.text.includes("Send the whole proposal again") === true;
  return at === 0 ? WRONG : at === 1 || isAgain ? FIX : NOTHING_LEFT;
};

type Surface = (advise: Advise) => Promise<{ readonly landed: string; readonly said: string }>;

const inChat =
  (config: string, answer = coder, request = REQUEST): Surface =>
  async (advise) => {
    const at = await openProject(advise, config, answer);
    const { text } = await at.send(request);
    const landed = at.read("src/add.mjs");
    await at.send("/undo");
    expect(at.read("src/add.mjs")).toBe(ADD);
    return { landed, said: text };
  };

const SURFACES: Readonly<Record<string, Surface>> = {
  chat: inChat(""),
  candidates: inChat("coder: { candidates: 2 }\n", () => FIX),
  "sub-agents": inChat(
    "coder: { explore: 6 }\n",
    (asked) => {
      if (asked.system?.includes("You are a sub-agent") === true)
        return asked.messages.at(-1)?.text.includes("Nothing failed") === true ? NOTHING_LEFT : FIX;
      return asked.messages.some(({ role }) => role === "tool")
        ? NOTHING_LEFT
        : { calls: [{ name: "delegate", arguments: { task: "Make add right", write: true } }] };
    },
    `${REQUEST} with sub-agents`,
  ),
  async solve(advise) {
    const kit = await createSolveKit();
    open.push(() => kit.stop());
    const { task } = await kit.solve([PLAN, shell("sed -i 's/a - b/a + b/' calc.sh"), DONE], {
      deps: { advise },
    });
    const branch = Bun.spawnSync([
      "git",
      "--git-dir",
      kit.repository.folder ?? "",
      "show",
      `${task.branch}:calc.sh`,
    ]);
    return { landed: branch.stdout.toString(), said: JSON.stringify(task.failure) };
  },
};

describe.if(process.platform === "linux" && requirePart("bwrap"))("each adviser fails in turn", () => {
  // One guard holds all of them: by day a step fails on the first surface that takes it, by night on each.
  const failed = new Set<string>();
  const isByNight = runs(1) > 1;
  for (const [name, play] of Object.entries(SURFACES))
    test(`${name}: the change lands, and the log names the step`, async () => {
      const first = failingAt(null, recordingLog().log);
      expect(await play(first.advise)).toMatchObject({ landed: expect.stringContaining("a + b") });
      expect(first.seen.size).toBeGreaterThan(0);
      for (const step of [...first.seen].filter((one) => isByNight || !failed.has(one))) {
        failed.add(step);
        const { log, lines } = recordingLog();
        const { landed, said } = await play(failingAt(step, log).advise);
        expect({ step, landed: landed.includes("a + b"), said }).toMatchObject({ step, landed: true });
        expect(said).not.toMatch(/unexpected|adviser broke/);
        expect(lines.filter((line) => line.startsWith("advice.failed"))[0]).toContain(`"step":"${step}"`);
        for (const close of open.splice(0)) await close();
      }
    }, 300_000);
});

test("a step that does not end is left behind at its limit", async () => {
  const { log, lines } = recordingLog();
  const advise = createAdvise(log, 5);
  expect(await advise("slow", "instead", () => new Promise<string>(() => {}))).toBe("instead");
  expect(lines).toEqual(['advice.failed {"step":"slow","error":"Error: not done after 5 ms"}']);
});

/** Several coders at one message, each in a draft of its own, through the real program. */
import { afterEach, expect, test } from "bun:test";
import { readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ChatCli,
  createChatCli,
  proposal,
  replace,
  type ScriptEntry,
} from "../application/chat/chat-kit.ts";
import { startModelServer } from "../fakes/model-server/server.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

type Role = "coder1" | "coder2" | "coder3";
const says = (role: Role, ...answers: readonly string[]): ScriptEntry[] =>
  answers.map((text) => ({ when: { role }, times: 1, text }));

const ADD_TEST = `import { test } from "node:test";
import assert from "node:assert";
import { add } from "../src/add.mjs";
test("adds nothing", () => assert.equal(add(1, 0), 1));
`;

/** `add` is wrong, and no test says so. */
function project(script: readonly ScriptEntry[], config = "") {
  const files = {
    "src/add.mjs": "export const add = (a, b) => a - b;\n",
    "test/add.test.mjs": ADD_TEST,
  };
  cli = createNodeProject({ script, config, files });
}

const change = (after: string) =>
  replace("src/add.mjs", "export const add = (a, b) => a - b;", `export const add = ${after};`);
const small = proposal("Small", change("(a, b) => a + b"));
const large = proposal("Large", change("(a, b) => {\n  const sum = a + b;\n  return sum;\n}"));
const breaking = proposal("Break", change("() => 7"));
const leave = proposal("Leave", "");
const newTest = (path: string, sum: number) =>
  `\`\`\`js:${path}\nimport { test } from "node:test";\nimport assert from "node:assert";\nimport { add } from "../src/add.mjs";\ntest("sum", () => assert.equal(add(2, ${sum - 2}), ${sum}));\n\`\`\``;

withChecks("/code all: the checks decide which is taken, one job lands, the others are named", () => {
  project([...says("coder1", breaking, leave), ...says("coder2", large), ...says("coder3", breaking, leave)]);
  const ran = cli.chat("/code all mend add in src/add.mjs");
  expect(ran.out).toStartWith("Applied: 1 file");
  expect(ran.out).toContain("Coders: Ao, Gin, Aka. Chosen: Ao (best by the checks).");
  expect(ran.out).toMatch(/\* Gin: checks got worse · 1 file, 2 lines · .*: Break/);
  expect(ran.out).toMatch(/\* Aka: checks got worse/);
  expect(ran.code).toBe(0);
  expect(cli.read("src/add.mjs")).toContain("const sum");
  expect(cli.chat("/undo").code).toBe(0);
  expect(cli.git("status", "--porcelain")).toBe("");
});

withChecks("where the checks do not tell, a new test that fails on the old code does", () => {
  const proven = proposal(
    "Proven",
    `${change("(a, b) => {\n  return a + b;\n}")}\n${newTest("test/sum.test.mjs", 5)}`,
  );
  const idle = proposal("Idle", `${change("(a, b) => a + b")}\n${newTest("test/sum.test.mjs", 2)}`);
  project([...says("coder1", proven), ...says("coder2", idle), ...says("coder3", small)]);
  const ran = cli.chat("/code all mend add in src/add.mjs");
  expect(ran.out).toContain("Chosen: Aka (its new test fails on the old code).");
  expect(cli.read("src/add.mjs")).toContain("return a + b");
});

withChecks("coder.candidates: so many, the routed one first, and the smaller change is taken", () => {
  project([...says("coder3", large), ...says("coder1", small)], "coder: { candidates: 2 }\n");
  const ran = cli.chat("/code mend add in src/add.mjs", [], { PICOCLAW_LOCALE: "ja" });
  expect(ran.out).toContain("採用: Aka（変更が最小）");
  expect(ran.out).toContain("* Gin: 失敗なし · 1 ファイル、5 行");
  expect(ran.out).not.toContain("Ao");
  expect(cli.read("src/add.mjs")).toContain("=> a + b;");
});

withChecks("a coder that was named works alone", () => {
  project(says("coder3", breaking, leave), "coder: { candidates: 3, escalate: true }\n");
  const ran = cli.chat("/code3 mend add in src/add.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.out).not.toContain("Coders:");
  expect(ran.code).toBe(1);
});

withChecks("a coder that cannot be asked is none of them", () => {
  project([...says("coder3", large), ...says("coder1", small)]);
  const file = join(cli.home, "config.yaml");
  const vendor = "  far: { type: openai, model: m, api_key: env:NO_SUCH_KEY }\nroles:";
  const config = readFileSync(file, "utf8").replace("roles:", vendor);
  writeFileSync(file, config.replace("coder2: { provider: demo }", "coder2: { provider: far }"));
  const ran = cli.chat("/code all mend add in src/add.mjs");
  expect(ran.out).toContain("Coders: Aka, Gin. Chosen: Aka (the smallest change).");
});

withChecks("coder.escalate: the next coder tries where one stays red, and no further one", () => {
  project(
    [...says("coder3", breaking, leave), ...says("coder1", small), ...says("coder2", large)],
    "coder: { escalate: true }\n",
  );
  const ran = cli.chat("/code mend add in src/add.mjs");
  expect(ran.out).toContain("Coders: Aka, Gin. Chosen: Aka (best by the checks).");
  expect(ran.code).toBe(0);
  expect(cli.read("src/add.mjs")).toContain("=> a + b;");
});

withChecks("coder.escalate: who is green at once is alone", () => {
  project([...says("coder3", small), ...says("coder1", large)], "coder: { escalate: true }\n");
  const ran = cli.chat("/code mend add in src/add.mjs");
  expect(ran.out).not.toContain("Aka");
  expect(ran.code).toBe(0);
});

const claims = ["Done: add adds now.", "I have mended add."];

test("coder.escalate: the next coder tries where one claims work twice and sends no patch", () => {
  cli = createChatCli(
    [...says("coder3", ...claims), ...says("coder1", small)],
    "coder: { escalate: true }\n",
  );
  cli.write("src/add.mjs", "export const add = (a, b) => a - b;\n");
  const ran = cli.chat("/code mend add in src/add.mjs");
  expect(ran.out).toContain("Coders: Aka, Gin. Chosen: Aka (the only one with a draft).");
  expect(ran.out).toContain("* Gin: answered in words: Done: add adds now.");
  expect(ran.code).toBe(0);
  expect(cli.read("src/add.mjs")).toContain("=> a + b;");
});

test("/code all: one coder that says why nothing changes answers for those that only claim work", () => {
  const answer = "It subtracts on purpose.\nNo change: the name is a joke";
  cli = createChatCli([
    ...says("coder1", ...claims),
    ...says("coder2", answer),
    ...says("coder3", ...claims),
  ]);
  const ran = cli.chat("/code all mend add in src/add.mjs");
  expect(ran.out).toContain(
    "It subtracts on purpose.\n\nNothing was changed. The coder's words: the name is a joke",
  );
  expect(ran.out.match(/Done: add adds now\./g)).toHaveLength(2);
  expect(ran.code).toBe(0);
});

withChecks("all red: the best stays as a preview and the workspace as it was", () => {
  project([
    ...says("coder1", breaking, leave),
    ...says("coder2", breaking, leave),
    ...says("coder3", "Which sum?\nNo change: a question"),
  ]);
  const before = cli.tree();
  const ran = cli.chat("/code all mend add in src/add.mjs");
  expect(ran.out).toStartWith("Not applied: checks got worse");
  expect(ran.out).toContain("* Gin: answered in words: Which sum?");
  expect(ran.code).toBe(1);
  expect(cli.tree()).toEqual(before);
  expect(cli.chat("/apply").code).toBe(0);
});

withChecks("a draft beside others has no network", () => {
  const dials = `${change("(a, b) => a + b")}\n\`\`\`bash\nreadlink /proc/self/ns/net > space.txt\n\`\`\``;
  const all = [...says("coder1", proposal("Dial", dials)), ...says("coder3", breaking, leave)];
  project(all, "coder: { candidates: 2 }\n");
  cli.chat("/code mend add in src/add.mjs");
  expect(cli.read("space.txt")).toStartWith("net:");
  expect(cli.read("space.txt").trim()).not.toBe(readlinkSync("/proc/self/ns/net"));
});

test("coder.budget_usd counts for all of them: when it is spent, no model is asked", () => {
  cli = createChatCli([{ text: small }], "coder: { budget_usd: 0 }\n");
  const ran = cli.chat("/code all mend add in src/add.mjs");
  expect(ran.out.match(/The budget for one message, \$0\.00, is spent/g)).toHaveLength(3);
  expect(ran.code).toBe(3);
});

withChecks("three are asked at the same time: none of them waits for another's answer", async () => {
  const model = await startModelServer({ script: [{ text: small }] });
  const all = Promise.withResolvers<void>();
  let asked = 0;
  const gate = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      asked += 1;
      if (asked === 3) all.resolve();
      await all.promise;
      const { pathname } = new URL(request.url);
      return fetch(model.url + pathname, {
        method: request.method,
        headers: request.headers,
        body: await request.text(),
      });
    },
  });
  try {
    cli = createChatCli([]);
    cli.write("src/add.mjs", "export const add = (a, b) => a - b;\n");
    const config = JSON.stringify(model.config()).replaceAll(model.url, gate.url.origin);
    writeFileSync(join(cli.home, "config.yaml"), config);
    const ran = await cli.runAsync(["chat", "/code all mend add in src/add.mjs"]);
    expect(ran.out).toContain("Chosen: Gin (the results are equal; the first one).");
    expect(model.requests).toHaveLength(3);
  } finally {
    await gate.stop(true);
    await model.stop();
  }
});

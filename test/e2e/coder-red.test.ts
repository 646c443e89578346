/** Tests that are red before a change: facts and the coder's declarations decide, and no word of the request does. */
import { afterEach, describe, expect, test } from "bun:test";
import { type ChatCli, proposal, replace, type ScriptEntry } from "../application/chat/chat-kit.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => (cli as ChatCli | undefined)?.remove());

const says = (...answers: readonly string[]): ScriptEntry[] =>
  answers.map((text) => ({ when: { role: "coder3" }, times: 1, text }));

const head = 'import { test } from "node:test";\nimport assert from "node:assert";\n';
const ADD = "export const add = (a, b) => a - b;";
const WRONG = "export const add = (a, b) => a - b - 0;";
const RIGHT = "export const add = (a, b) => a + b;";
const GREET = 'export const greet = (name) => "hello " + name;';
const GREETS = 'test("greets", () => assert.equal(greet("a"), "hello a"));';
const FILES = {
  "src/add.mjs": `${ADD}\n`,
  "src/greet.mjs": `${GREET}\n`,
  "test/add.test.mjs": `${head}import { add } from "../src/add.mjs";\ntest("adds", () => assert.equal(add(1, 2), 3));\n`,
  "test/greet.test.mjs": `${head}import { greet } from "../src/greet.mjs";\n${GREETS}\n`,
};
const wrong = replace("src/add.mjs", ADD, WRONG);
const right = replace("src/add.mjs", ADD, RIGHT);

function project(
  answers: readonly string[],
  {
    check = "node --test",
    files = {},
    config = "",
  }: { check?: string; files?: object; config?: string } = {},
) {
  cli = createNodeProject({ script: says(...answers), check, config, files: { ...FILES, ...files } });
}

describe("a wrong change over the red test of that very function", () => {
  const check =
    "node -e \"import('./src/add.mjs').then((m) => process.exit(m.add(1, 2) === 3 ? 0 : 1))\" src/add.mjs";
  withChecks("does not land, for any wording of the request", () => {
    project([proposal("A", wrong), proposal("B", ""), proposal("C", "")]);
    const before = cli.tree();
    for (const request of ["add() is wrong, make the tests pass", "add() gives wrong sums, fix it"]) {
      cli.rewrite(says(proposal("A", wrong), proposal("B", "")));
      const ran = cli.chat(`/code3 ${request}`);
      expect(ran.out).toStartWith("Preview, nothing applied: npm test 1 passed, 1 still red\n");
      expect(ran.code).toBe(1);
      expect(cli.tree()).toEqual(before);
    }
  });
  withChecks("does not land where only an exit code tells", () => {
    project([proposal("A", wrong), proposal("B", "")], { check });
    const ran = cli.chat("/code3 fix add, npm test is red");
    expect(ran.out).toStartWith("Preview, nothing applied: npm test still red\n");
    expect(ran.code).toBe(1);
  });
  withChecks("is returned with the output, and the right one lands", () => {
    project([proposal("A", wrong), proposal("Fixes: adds", replace("src/add.mjs", WRONG, RIGHT))]);
    const ran = cli.chat("/code3 add() gives wrong sums");
    expect(ran.out).toStartWith("Applied: 1 file, npm test 2 passed (1 fixed)\n");
    expect(ran.code).toBe(0);
  });
});

withChecks("what an answer declares whose patch cannot be read does not count", () => {
  const unread = proposal("Fixes: adds", "src/greet.mjs\n```\n<<<<<<< SEARCH\nlost\n```");
  project([unread, proposal("A", replace("src/greet.mjs", GREET, `${GREET} // politely`))]);
  const ran = cli.chat("/code3 note that greet is polite");
  expect(ran.out).toStartWith("Applied: 1 file, npm test 1 passed");
  expect(ran.code).toBe(0);
});

describe("red tests whose build output is missing", () => {
  const built = `${head}import { execFileSync } from "node:child_process";
test("the bundle greets", () => execFileSync(process.execPath, ["dist/bundle.cjs"], { stdio: "pipe" }));
`;
  const shout = replace("src/greet.mjs", GREET, GREET.replace('" + name', '".concat(name)'));
  const nobody = 'test("greets nobody", () => assert.equal(greet(""), "hello "));';
  const more = replace("test/greet.test.mjs", GREETS, `${nobody}\n${GREETS}`);
  withChecks("do not keep a right change back, in a Japanese request that ends with tests", () => {
    project([proposal("挨拶を直す", `${shout}\n${more}`)], { files: { "test/bundle.test.mjs": built } });
    const ran = cli.chat("/code3 greet を concat で書き直し、テストを追加・修正してください。");
    expect(ran.out).toStartWith("Applied: 2 files, npm test 2 passed");
    expect(ran.out.split("\n")[0]).toContain("2 passed (1 new), 2 were red before and still are");
    expect(ran.out).toContain("1 new test, passes without the change as well");
    expect(ran.out).toMatch(/^The checks took \d+ s\.$/m);
    expect(ran.code).toBe(0);
  });
});

describe("a new test that fails", () => {
  const failing = `\`\`\`js:test/sub.test.mjs\n${head}test("subtracts", () => assert.equal(1, 2));\n\`\`\``;
  const only = { "test/add.test.mjs": `${head}test("nothing", () => {});\n` };
  withChecks("is returned while attempts remain, and never lands by itself", () => {
    const line = (n: number) => `test("subtracts", () => assert.equal(1, ${n}));`;
    const other = (n: number) => replace("test/sub.test.mjs", line(n), line(n + 1));
    project(
      [proposal("A", failing), proposal("B", other(2)), proposal("C", other(3)), proposal("D", other(4))],
      {
        files: only,
      },
    );
    const ran = cli.chat("/code3 write a test for subtraction");
    expect(ran.out).toStartWith("Preview, nothing applied: npm test 2 passed, 1 new and failing\n");
    expect(ran.out).toContain("New and failing: subtracts");
    expect(ran.code).toBe(1);
  });
  withChecks("lands where the coder declares it, and the first line says so", () => {
    project([proposal("Meant to fail: subtracts: shows the bug", failing)], { files: only });
    const ran = cli.chat("/code3 write a test for subtraction");
    expect(ran.out).toStartWith(
      "Applied: 1 file, npm test 2 passed, 1 new test fails, as meant (the coder: shows the bug)\n",
    );
    expect(ran.code).toBe(0);
  });
});

const REQUESTS = [
  "add() is wrong, make the tests pass",
  "add() gives wrong sums",
  "fix add, npm test is red",
  "make the failing test pass",
  "the CI is red",
  "please get the build green",
  "tidy src/add.mjs",
  "add a test for add",
  "write a failing test that shows the bug",
  "comment src/add.mjs and change nothing else",
  "テストが落ちているので直して",
  "失敗しているテストを修正してください",
  "add の計算がおかしい",
  "テストを追加して、必要なら修正してください",
  "CI を緑にして",
  "src/add.mjs を整理して",
  "コメントだけ直して",
  "add() が変。なんとかして",
  "add にテストを書いて",
  "すべてのテストを通して",
];

withChecks(
  "twenty requests with other words have one verdict, wrong or right",
  () => {
    project([]);
    const before = cli.tree();
    const first = (out: string) => out.split("\n")[0];
    const wrongs = REQUESTS.map((request) => {
      cli.rewrite(says(proposal("A", wrong), proposal("B", "")));
      const ran = cli.chat(`/code3 ${request}`);
      expect(cli.tree()).toEqual(before);
      return `${first(ran.out)} ${ran.code}`;
    });
    expect([...new Set(wrongs)]).toEqual(["Preview, nothing applied: npm test 1 passed, 1 still red 1"]);
    const rights = REQUESTS.slice(0, 4).map((request) => {
      cli.rewrite(says(proposal("A", right)));
      const ran = cli.chat(`/code3 ${request}`);
      cli.chat("/undo");
      return `${first(ran.out)} ${ran.code}`;
    });
    expect([...new Set(rights)]).toEqual(["Applied: 1 file, npm test 2 passed (1 fixed) 0"]);
  },
  300_000,
);

test("the list of requests is half Japanese", () =>
  expect(REQUESTS.filter((one) => /[\u3040-\u30ff\u4e00-\u9fff]/.test(one))).toHaveLength(10));

describe("what the coder declares of red tests", () => {
  const only = "test/add.test.mjs";
  const adds = 'test("adds", () => assert.equal(add(1, 2), 3));';
  const sub = `${ADD}\nexport const half = (a) => a / 2;`;
  const addition = replace("src/add.mjs", ADD, sub);

  withChecks("removed by the coder: the first line names the test, also where all others pass", () => {
    project([proposal("Removes: adds", `${replace(only, adds, "")}\n${addition}`)]);
    const ran = cli.chat("/code3 tidy the tests of add");
    expect(ran.out.split("\n")[0]).toBe(
      "Applied: 2 files, npm test 1 passed, 1 test removed by the coder: adds",
    );
    cli.chat("/undo");
    cli.rewrite(says(proposal("Removes: greets", replace("test/greet.test.mjs", GREETS, ""))));
    const green = cli.chat("/code3 drop the test of greet");
    expect(green.out.split("\n")[0]).toContain("1 test removed by the coder: greets");
  });

  withChecks("not its own, with a reason that says nothing: the first line tells it", () => {
    project([proposal("Add half.\n- Not mine: adds: it was red before\nFixes: nothing", addition)]);
    const ran = cli.chat("/code3 add half");
    expect(ran.out).toContain("[Plan] the coder's own words, not a result\nAdd half.\n\n");
    expect(ran.out.split("\n")[0]).toBe(
      "Applied: 1 file, npm test 1 passed, 1 was red before and still is (the coder: it was red before), nothing is worse",
    );
  });

  withChecks("not its own is refused where the failure passes through the change or is another one", () => {
    const throwing = replace("src/add.mjs", ADD, 'export const add = () => { throw new Error("no"); };');
    const disowned = "Not mine: adds: it was red before";
    for (const patch of [
      throwing,
      replace("src/add.mjs", ADD, "export const add = (a, b) => String(a) + b;"),
    ]) {
      project([proposal(disowned, patch), proposal(disowned, ""), proposal(disowned, "")]);
      const ran = cli.chat("/code3 rewrite add");
      expect(ran.out).toStartWith("Preview, nothing applied: npm test 1 passed, 1 still red\n");
      expect(ran.code).toBe(1);
      cli.remove();
    }
  });

  withChecks(
    "a red test of the same file holds an addition back once, with the line that lets it land",
    () => {
      project([]);
      cli.rewrite([
        ...says(proposal("Add half", addition)),
        {
          when: { role: "coder3", message: "/^Not mine: adds: REASON$/m" },
          times: 1,
          text: proposal("Not mine: adds: add() subtracts, which nobody asked me to change", ""),
        },
        ...says(proposal("The line was not in the report", "")),
      ]);
      const ran = cli.chat("/code3 add half to src/add.mjs");
      expect(ran.out.split("\n")[0]).toBe(
        "Applied: 1 file, npm test 1 passed, 1 was red before and still is (the coder: add() subtracts, which nobody asked me to change), nothing is worse",
      );
      expect(ran.code).toBe(0);
    },
  );
});

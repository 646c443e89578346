/** Tests that are tested, and the tests that belong to a change before the others, through the real program. */
import { afterEach, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ChatCli, proposal, replace, type ScriptEntry } from "../application/chat/chat-kit.ts";
import { createNodeProject, withChecks } from "./node-project.ts";

let cli: ChatCli;
afterEach(() => cli.remove());

const says = (...answers: readonly string[]): ScriptEntry[] =>
  answers.map((text) => ({ when: { role: "coder3" }, times: 1, text }));

const testOf = (name: string, body: string) => `import { test } from "node:test";
import assert from "node:assert";
${body.includes(`${name}(`) || body.includes(`${name},`) ? `import { ${name} } from "../src/${name}.mjs";\n` : ""}test("${name} works", () => ${body});
`;
const ONE = testOf("one", "assert.equal(one, 1)");

function project(
  answers: readonly string[],
  more: { files?: Record<string, string>; check?: string; config?: string; realNode?: boolean } = {},
) {
  cli = createNodeProject({
    script: says(...answers),
    ...(more.check !== undefined && { check: more.check }),
    ...(more.config !== undefined && { config: more.config }),
    files: { "src/one.mjs": "export const one = 1;\n", "test/one.test.mjs": ONE, ...more.files },
    realNode: more.realNode ?? false,
  });
}

const comment = replace("src/one.mjs", "export const one = 1;", "// The first.\nexport const one = 1;");
const second = replace(
  "src/one.mjs",
  "export const one = 1;",
  "export const one = 1;\nexport const two = 2;",
);
const newTest = (...tests: readonly string[]) =>
  `\`\`\`js:test/two.test.mjs\nimport { test } from "node:test";\nimport assert from "node:assert";\nimport * as all from "../src/one.mjs";\n${tests.join("\n")}\n\`\`\``;
const PROVES = 'test("two is two", () => assert.equal(all.two, 2));';
const SHOWS_NOTHING = 'test("one stays", () => assert.equal(all.one, 1));';

withChecks("a new test that fails without the change is reported as a proof", () => {
  project([proposal("Two", `${second}\n${newTest(PROVES)}`)]);
  const ran = cli.chat("/code3 export two from src/one.mjs, with a test");
  expect(ran.out).toStartWith("Applied: 2 files, npm test 2 passed (1 new)\n");
  expect(ran.out).toContain("1 new test, fails without the change");
  expect(ran.code).toBe(0);
});

withChecks("new tests that pass without the change as well are reported as such", () => {
  project([proposal("Two", `${second}\n${newTest(PROVES, SHOWS_NOTHING)}`)]);
  const ran = cli.chat("/code3 export two from src/one.mjs, with a test");
  expect(ran.out).toContain(
    "2 new tests; without the change 1 fails, 1 passes (it guards what already worked).",
  );
  expect(ran.code).toBe(0);
});

withChecks("a new test that never ends without the change is a proof, and is not waited for twice", () => {
  const ends =
    'test("two comes", async () => { while (all.two === undefined) await new Promise((r) => setTimeout(r, 50)); });';
  project([proposal("Two", `${second}\n${newTest(ends)}`)], { config: "checks:\n  timeout: 10\n" });
  const ran = cli.chat("/code3 export two from src/one.mjs, with a test");
  expect(ran.out).toStartWith("Applied: 2 files, npm test 2 passed (1 new)\n");
  expect(ran.out).toContain("1 new test; without the change it does not end");
  const [journal = ""] = [...new Bun.Glob("workspaces/*/jobs/*/journal.ndjson").scanSync({ cwd: cli.home })];
  const endless = readFileSync(join(cli.home, journal), "utf8").match(/"exit_code":null/g);
  expect(endless).toHaveLength(1);
});

withChecks("tests that do not load what was changed do not count as a check of it", () => {
  project([proposal("Say what it is", comment)], {
    files: { "test/one.test.mjs": testOf("one", "assert.ok(true)") },
  });
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toStartWith(
    "Applied: 1 file, NOT CHECKED: the tests (npm test) do not notice when src/one.mjs is broken\n",
  );
  expect(ran.code).toBe(0);
});

withChecks("a copy from an earlier build does not pass for the code that was changed", () => {
  project([proposal("Say what it is", comment)], {
    files: {
      "test/one.test.mjs": ONE.replace("../src/one.mjs", "../dist/one.mjs"),
      "dist/one.mjs": "export const one = 1;\n",
    },
  });
  const ran = cli.chat("/code3 comment src/one.mjs");
  expect(ran.out).toContain("NOT CHECKED: the tests (npm test) do not notice when src/one.mjs is broken");
});

withChecks("where one of two changed files is noticed, the other one is named", () => {
  project(
    [
      proposal(
        "Comment both",
        `${comment}\n${replace("src/tool.mjs", "export const tool = 1;", "// A tool.\nexport const tool = 1;")}`,
      ),
    ],
    {
      files: { "src/tool.mjs": "export const tool = 1;\n" },
    },
  );
  const ran = cli.chat("/code3 comment src/one.mjs and src/tool.mjs");
  expect(ran.out).toStartWith("Applied: 2 files, npm test 1 passed (1 changed file not noticed)\n");
  expect(ran.out).toContain("The tests do not notice when it is broken: src/tool.mjs");
});

/** Enough other tests that those of one file are few among them. */
const OTHERS = Object.fromEntries(
  ["b", "c", "d", "e", "f"].flatMap((name) => [
    [`src/${name}.mjs`, `export const ${name} = 1;\n`],
    [`test/${name}.test.mjs`, testOf(name, `assert.equal(${name}, 1)`)],
  ]),
);
const SLOW = `import { test } from "node:test";\ntest("waits", () => new Promise((done) => setTimeout(done, 30_000)));\n`;

withChecks(
  "past the limit the affected tests judge alone, and the reply says so",
  () => {
    project([proposal("Say what it is", comment)], {
      files: { ...OTHERS, "test/z.test.mjs": SLOW },
      realNode: true,
    });
    const ran = cli.chat("/code3 comment src/one.mjs", [], { PICOCLAW_CHECKS_AUTO_LIMIT: "2" });
    expect(ran.out).toMatch(
      /^Applied: 1 file, npm test 1 test in 1 file passed, the only affected file; the whole suite \(over [2-9] s\) was not run\n/,
    );
    expect(ran.code).toBe(0);
    const two = replace("src/one.mjs", "export const one = 1;", "export const one = 2;");
    cli.rewrite(says(proposal("Break", two), proposal("Leave", "")));
    const broken = cli.chat("/code3 make one two in src/one.mjs", [], { PICOCLAW_CHECKS_AUTO_LIMIT: "2" });
    expect(broken.out).toStartWith("Not applied: checks got worse");
    expect(broken.out).toContain("Newly failing, skipped or missing: one works");
    expect(broken.code).toBe(1);
  },
  300_000,
);

/** Fails beside other test files with the comment in `src/one.mjs`, and passes alone. */
const COMPANY = `import { test } from "node:test";
import assert from "node:assert";
import { readFileSync } from "node:fs";
test("hates company", () => {
  const isAlone = readFileSync(\`/proc/\${process.ppid}/cmdline\`, "utf8").includes("company.test");
  assert.ok(isAlone || !readFileSync(["src", "one.mjs"].join("/"), "utf8").includes("The first"));
});
`;

withChecks(
  "a test that fails in two runs of the whole suite, and passes alone, is worse",
  () => {
    project([proposal("Say what it is", comment), proposal("Nothing of mine", "")], {
      files: { "test/company.test.mjs": COMPANY },
      realNode: true,
    });
    const ran = cli.chat("/code3 comment src/one.mjs");
    expect(ran.out).toStartWith("Not applied: checks got worse");
    expect(ran.out).toContain("Passes alone, and fails with the other tests (twice): hates company");
    expect(ran.code).toBe(1);
  },
  120_000,
);

withChecks(
  "past the time limit such a test is unstable: it is returned once, lands, is reported, and does not count as passed",
  () => {
    const waits = SLOW.replace("30_000", "1500");
    project([proposal("Say what it is", comment), proposal("Nothing of mine", "")], {
      files: { "test/company.test.mjs": COMPANY, "test/z.test.mjs": waits },
      config: "checks: { enabled: always, auto_limit: 1 }\n",
      realNode: true,
    });
    const ran = cli.chat("/code3 comment src/one.mjs");
    expect(ran.out).toStartWith(
      "Applied: 1 file, npm test 2 passed, UNSTABLE since this change: hates company\n",
    );
    expect(ran.out).not.toContain("Flaky, not worse");
    expect(ran.out).toContain("Nothing of mine");
    expect(ran.code).toBe(0);
  },
  120_000,
);

withChecks(
  "while checks run, observers see their progress",
  () => {
    const waits = SLOW.replace("30_000", "8000");
    project([proposal("Say what it is", comment)], {
      files: { "test/z.test.mjs": waits },
      realNode: true,
    });
    const ran = cli.chat("/code3 comment src/one.mjs", ["--events"]);
    const told = ran.out
      .split("\n")
      .flatMap((line) => (line.includes('"progress"') ? [JSON.parse(line) as { detail?: string }] : []))
      .map(({ detail = "" }) => detail);
    expect(
      told.some((detail) => /^npm test: 1 of 2 tests, \d+ s(?: of about \d+ s)?, one works/.test(detail)),
    ).toBe(true);
  },
  300_000,
);

import { afterEach, beforeEach, expect, test } from "bun:test";
import { createSolveKit, DONE, FIX, PLAN, shell } from "./solve-kit.ts";

let kit: Awaited<ReturnType<typeof createSolveKit>>;
beforeEach(async () => {
  kit = await createSolveKit();
});
afterEach(() => kit.stop());

const writeManifest = (script: string) =>
  `printf '%s' '${JSON.stringify({ scripts: { test: script } })}' > package.json`;

test("a test script that the change set to `true` closes nothing", async () => {
  const answers = [PLAN, shell(writeManifest("true")), DONE, DONE, DONE];
  const { task } = await kit.solve(answers);
  expect(task).toMatchObject({ state: "failed", failure: { kind: "checks-red" } });
  expect(task.checks).toMatchObject([{ command: "npm test", asCloned: ["package.json"] }]);
  expect(task.checks[0]?.exitCode).not.toBe(0);
  expect(
    kit
      .pulls()
      .map(({ body }) => body)
      .join(),
  ).not.toContain("Closes #");
});

test("a manifest that changes in what does not decide is judged as it is, and a right fix beside a changed script is done", async () => {
  const named = JSON.stringify({ name: "sum", scripts: { test: "sh test.sh" } });
  const { task } = await kit.solve([PLAN, shell(`${FIX}; printf '%s' '${named}' > package.json`), DONE]);
  expect(task).toMatchObject({ state: "done", checks: [{ exitCode: 0 }] });
  expect(task.checks[0]).not.toHaveProperty("asCloned");
});

test("a right fix is done although it changed the script as well: the script as it was is as green", async () => {
  const { task } = await kit.solve([PLAN, shell(`${FIX}; ${writeManifest("true")}`), DONE]);
  expect(task).toMatchObject({ state: "done", checks: [{ exitCode: 0 }], judged: { verdict: "better" } });
  expect(task.judged).not.toHaveProperty("onlyWith");
});

test("the coder learns with which files the checks ran, and may fix it", async () => {
  const { task, model } = await kit.solve([PLAN, shell(writeManifest("true")), DONE, shell(FIX), DONE]);
  expect(task).toMatchObject({ state: "done", checks: [{ exitCode: 0 }] });
  const said = JSON.stringify(model.asked);
  expect(said).toContain("pass only with your change of package.json, which decides how they run");
});

test("programs that git ignores, and those of the home, cannot be changed until the tests pass", async () => {
  await kit.stop();
  kit = await createSolveKit({
    "calc.sh": "add() { echo $((a - b)); }\n",
    ".gitignore": "node_modules\n",
    "package.json": JSON.stringify({ scripts: { test: "judge calc.sh" } }),
  });
  kit.environments.install = `mkdir -p node_modules/.bin && printf '#!/bin/sh\\n. ./$1; test $(a=1 b=2 add) = 3\\n' > node_modules/.bin/judge && chmod +x node_modules/.bin/judge && echo x=1 > "$HOME/.npmrc"`;
  const forge = `printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/judge; echo script-shell=/bin/true > "$HOME/.npmrc"; echo y >> calc.sh`;
  const { task } = await kit.solve([PLAN, shell(forge), DONE, DONE, DONE]);
  expect(task).toMatchObject({ state: "failed", failure: { kind: "checks-red" } });
  expect(task.judged?.onlyWith).toEqual(["~/.npmrc", "node_modules/.bin/judge"]);
  const right = await kit.solve([shell(`git checkout calc.sh; ${FIX}`), DONE]);
  expect(right.task).toMatchObject({ state: "done", judged: { verdict: "better" } });
});

test("vanished tests are not green, and tests that the change removes on purpose are not a loss", async () => {
  await kit.stop();
  kit = await createSolveKit({
    "sum.js": "exports.sum = (a, b) => a + b;\n",
    "sum.test.js":
      "const { test } = require('node:test');\nrequire('./sum.js');\ntest('one', () => {});\ntest('two', () => {});\n",
    "package.json": JSON.stringify({ scripts: { test: "node --test --test-reporter=tap" } }),
  });
  const gone = await kit.solve([PLAN, shell("echo 'process.exit(0);' >> sum.js"), DONE, DONE, DONE]);
  expect(gone.task).toMatchObject({ state: "failed", failure: { kind: "checks-red" } });
  expect(gone.task.checks).toMatchObject([{ exitCode: 0, since: { verdict: "worse" } }]);
  const removed = await kit.solve(
    [PLAN, shell("echo '// sums' >> sum.js; sed -i /two/d sum.test.js"), DONE],
    { fresh: true },
  );
  expect(removed.task).toMatchObject({ state: "done", checks: [{ exitCode: 0 }] });
}, 300_000);

test("code that speaks of the test run, and tests that notice nothing of the change, close nothing", async () => {
  await kit.stop();
  kit = await createSolveKit({
    "sum.js": "exports.sum = (a, b) => a + b;\n",
    "other.js": "exports.other = 1;\n",
    "sum.test.js":
      "const { test } = require('node:test');\nconst { sum } = require('./sum.js');\ntest('one', () => { if (sum(1, 1) !== 2) throw new Error('no'); });\n",
    "package.json": JSON.stringify({ scripts: { test: "node --test --test-reporter=tap sum.test.js" } }),
  });
  const closes = () =>
    kit
      .pulls()
      .map(({ body }) => body)
      .join()
      .includes("Closes #");
  const tell = shell("echo 'if (process.env.NODE_TEST_CONTEXT) exports.sum = () => 2;' >> sum.js");
  const doubtful = await kit.solve([PLAN, tell, DONE, DONE]);
  expect(doubtful.task).toMatchObject({ state: "failed", judged: { verdict: "doubtful" } });
  expect(JSON.stringify(doubtful.model.asked)).toContain("refer to the test run");
  expect(closes()).toBe(false);
  const blind = await kit.solve([PLAN, shell("echo 'exports.more = 2;' >> other.js"), DONE], { fresh: true });
  expect(blind.task).toMatchObject({
    state: "failed",
    failure: { kind: "checks-not-run" },
    judged: { notChecked: "blind", unnoticed: ["other.js"] },
  });
  expect(closes()).toBe(false);
}, 300_000);

test("checks that cannot run before and after for a cause outside the sources say it to the forge, in a draft that closes nothing", async () => {
  await kit.stop();
  const lost = "Could not transfer artifact example:plugin:1.0";
  kit = await createSolveKit({
    "calc.sh": "add() { echo $((a - b)); }\n",
    Makefile: ".PHONY: test\ntest:\n\t@sh run.sh\n",
    "run.sh": `echo "${lost}"; exit 1\n`,
  });
  const { task } = await kit.solve([PLAN, shell(FIX), DONE, DONE, DONE]);
  expect(task).toMatchObject({ state: "failed", failure: { kind: "checks-not-run" } });
  expect(task.failure?.message).toContain(
    `The checks could not be run in this environment: \`make test\` (${lost})`,
  );
  const [pull] = kit.pulls();
  expect(pull?.body).toContain(
    `⚠️ \`make test\` cannot run in this environment, with this change or without it: ${lost}.`,
  );
  expect(pull?.body).not.toContain("Closes #");
});

/** The price of a verdict, counted: a suite whose runs the journal lists, and a scripted model. */
import { afterEach, describe, expect, test } from "bun:test";
import { QUICK_NODE_PATH } from "../../quick-npm.ts";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

interface RunOfCheck {
  readonly over: string;
  readonly altered: boolean;
  /** Names of test files in the command; empty for the whole suite. */
  readonly files: readonly string[];
}

/**
 * Every run of a check, as the journals of all jobs list them. The affected tests and then the rest of them are one run of all, which
 * happens where the model answers before the baseline has ended.
 */
function listRuns(): RunOfCheck[] {
  const runs = at.archive
    .list()
    .flatMap(({ jobId }) => at.archive.events(jobId))
    .flatMap(({ event }) => (event.type === "check_finished" ? [event] : []))
    .map(({ over, altered = false, command }) => ({
      over,
      altered,
      files: [...command.matchAll(/(?<!=)\btests?\/(\w+)\./g)].map(([, name = ""]) => name),
      without: [...command.matchAll(/--ignore=tests?\/(\w+)\./g)].map(([, name = ""]) => name),
    }));
  for (const { without } of runs.filter((run) => run.without.length > 0)) {
    const part = runs.find(({ files }) => files.join() === without.join());
    if (part === undefined) throw new Error("a part of the tests ran without the rest");
    runs.splice(runs.indexOf(part), 1);
  }
  const baselines = runs.filter(({ over, files }) => over === "baseline" && files.length === 0);
  return [...baselines, ...runs.filter((run) => !baselines.includes(run))].map(
    ({ without: _, ...run }) => run,
  );
}

/** Slow, and not silent: that would be a test that hangs. */
const SLOW_TESTS = {
  "tests/test_h.py":
    'import time\nimport pytest\n\n\n@pytest.mark.parametrize("n", range(900))\ndef test_h(n):\n    time.sleep(0.5)\n',
};

const python = requirePart("bwrap") && requirePart("pytest");

/** Modules `a`, `b`, … with a test file each. */
async function openPython(
  answers: readonly string[],
  more: Readonly<Record<string, string>> = {},
  config = "",
) {
  at = await openConversation((_, number) => answers[number] ?? "Nothing to add.", { config });
  at.write("pyproject.toml", "[tool.pytest.ini_options]\n");
  at.write(".gitignore", "__pycache__/\n.pytest_cache/\n");
  for (const name of ["a", "b", "c", "d", "e", "f", "g"]) {
    at.write(`src/mod_${name}.py`, `def give():\n    return "${name}"\n`);
    at.write(
      `tests/test_${name}.py`,
      `from mod_${name} import give\n\n\ndef test_gives_${name}():\n    assert give() == "${name}"\n`,
    );
  }
  for (const [path, text] of Object.entries(more)) at.write(path, text);
}

const upper = replace(
  "src/mod_a.py",
  '    return "a"',
  '    return "a"\n\n\ndef shout():\n    return give().upper()',
);
const shoutTest = replace(
  "tests/test_a.py",
  '    assert give() == "a"',
  '    assert give() == "a"\n\n\ndef test_shouts():\n    from mod_a import shout\n    assert shout() == "A"',
);

describe.if(python)("runs of pytest", () => {
  test("a comment costs the baseline and one run", async () => {
    await openPython([proposal("Say", replace("src/mod_a.py", "def give():", "# Gives.\ndef give():"))]);
    const reply = await at.send("/code3 comment src/mod_a.py");
    expect([reply.ok, listRuns()]).toEqual([
      true,
      [
        { over: "baseline", altered: false, files: [] },
        { over: "draft", altered: false, files: [] },
      ],
    ]);
  });

  test("a feature with a new test costs one more run, of its test file over the old code", async () => {
    await openPython([proposal("Shout", `${upper}\n${shoutTest}`)]);
    const reply = await at.send("/code3 add shout to src/mod_a.py, with a test");
    expect(reply.text).toContain("8 passed (1 new)");
    expect(listRuns()).toEqual([
      { over: "baseline", altered: false, files: [] },
      { over: "draft", altered: false, files: [] },
      { over: "draft", altered: true, files: ["test_a"] },
    ]);
  });

  test("a changed test is run in its old version too, its file alone", async () => {
    const stronger = replace(
      "tests/test_a.py",
      '    assert give() == "a"',
      '    assert give() == "a" != "b"',
    );
    await openPython([proposal("Stronger", `${upper}\n${stronger}`)]);
    expect((await at.send("/code3 add shout to src/mod_a.py")).ok).toBe(true);
    expect(listRuns()).toEqual([
      { over: "baseline", altered: false, files: [] },
      { over: "draft", altered: false, files: [] },
      { over: "draft", altered: true, files: ["test_a"] },
    ]);
  });

  test("a red attempt repeats its failing file once, over the draft and over the old code", async () => {
    await openPython([
      proposal("Try", replace("src/mod_a.py", '    return "a"', '    return "b"')),
      proposal("Right", replace("src/mod_a.py", '    return "b"', '    return "a"  # as it was')),
    ]);
    const reply = await at.send("/code3 change src/mod_a.py");
    expect([reply.ok, listRuns()]).toEqual([
      true,
      [
        { over: "baseline", altered: false, files: [] },
        // All of them, or the affected one first.
        { over: "draft", altered: false, files: expect.any(Array) },
        { over: "draft", altered: false, files: ["test_a"] },
        { over: "draft", altered: true, files: ["test_a"] },
        { over: "draft", altered: false, files: [] },
      ],
    ]);
  });

  const comment = proposal("Say", replace("src/mod_b.py", "def give():", "# Gives.\ndef give():"));

  test("a new test that fails is repeated alone, and neither the old code nor the old tests are asked", async () => {
    const wrong = shoutTest.replace('shout() == "A"', 'shout() == "B"');
    const right = replace("tests/test_a.py", '    assert shout() == "B"', '    assert shout() == "A"');
    await openPython([comment, proposal("Shout", `${upper}\n${wrong}`), proposal("Right", right)]);
    await at.send("/code3 comment src/mod_b.py");
    const before = listRuns().length;
    const reply = await at.send("/code3 add shout to src/mod_a.py, with a test");
    expect(reply.text).toContain("8 passed (1 new)");
    expect(listRuns().slice(before)).toEqual([
      { over: "draft", altered: false, files: expect.any(Array) },
      { over: "draft", altered: false, files: ["test_a"] },
      { over: "draft", altered: false, files: [] },
      { over: "draft", altered: true, files: ["test_a"] },
    ]);
  });

  test("a test that got worse beside a new one is repeated without that, and its old version is not run again", async () => {
    const broken = upper.replace('return "a"\n\n\ndef shout', 'return "A"\n\n\ndef shout');
    const right = replace("src/mod_a.py", '    return "A"', '    return "a"  # as it was');
    await openPython([comment, proposal("Try", `${broken}\n${shoutTest}`), proposal("Right", right)]);
    await at.send("/code3 comment src/mod_b.py");
    const before = listRuns().length;
    const reply = await at.send("/code3 add shout to src/mod_a.py, with a test");
    expect(reply.text).toContain("8 passed (1 new)");
    expect(listRuns().slice(before)).toEqual([
      { over: "draft", altered: false, files: expect.any(Array) },
      // The old test without the new one, the old code, and the second attempt with its proof.
      { over: "draft", altered: true, files: ["test_a"] },
      { over: "draft", altered: true, files: ["test_a"] },
      { over: "draft", altered: false, files: [] },
      { over: "draft", altered: true, files: ["test_a"] },
    ]);
  });

  test("a test that only a new test makes fail is not worse", async () => {
    const first = "def test_first():\n    import mod_a\n    mod_a.NAME = 'x'\n\n\ndef test_gives_a():";
    const adds = `${replace("src/mod_a.py", 'NAME = "a"', 'NAME = "a"  # here')}\n${replace("tests/test_a.py", "def test_gives_a():", first)}`;
    await openPython([comment, proposal("Add", adds)], {
      "src/mod_a.py": 'NAME = "a"\n\n\ndef give():\n    return NAME\n',
    });
    await at.send("/code3 comment src/mod_b.py");
    const reply = await at.send("/code3 add a test of src/mod_a.py");
    expect(reply.text).toContain("New and failing: tests/test_a.py::test_gives_a");
  });

  const passesByOthers = "DOUBTFUL: 1 test passes only with the changed tests: tests/test_a.py::test_gives_a";

  test.each([
    ["of its file", "tests/test_a.py"],
    ["of a new file", "tests/test_0.py"],
  ])("a red test that passes only because of a new test %s is not fixed", async (_, path) => {
    const first = "def test_first():\n    import mod_a\n    mod_a.NAME = 'a'\n";
    const added =
      path === "tests/test_a.py"
        ? replace(path, "def test_gives_a():", `${first}\n\ndef test_gives_a():`)
        : `\`\`\`py:${path}\n${first}\`\`\``;
    const adds = `${replace("src/mod_a.py", 'NAME = "x"', 'NAME = "x"  # here')}\n${added}`;
    await openPython([comment, proposal("Add", adds)], {
      "src/mod_a.py": 'NAME = "x"\n\n\ndef give():\n    return NAME\n',
    });
    await at.send("/code3 comment src/mod_b.py");
    const reply = await at.send("/code3 add a test of src/mod_a.py");
    expect(reply.text.split("\n")[0]).toContain(passesByOthers);
  });

  test("a red test that passes only as the change rewrote it is not fixed", async () => {
    const rewrites = `${replace("src/mod_a.py", "def give():", "# Gives.\ndef give():")}\n${replace("tests/test_a.py", '    assert give() == "a"', '    assert give() == "x"')}`;
    await openPython([comment, proposal("Fix", rewrites)], {
      "src/mod_a.py": 'def give():\n    return "x"\n',
    });
    await at.send("/code3 comment src/mod_b.py");
    const reply = await at.send("/code3 fix the test of src/mod_a.py");
    expect(reply.text.split("\n")[0]).toContain(passesByOthers);
  });

  test("a fix with a new test file runs the fixed test once more without that file", async () => {
    const right = replace("src/mod_a.py", '    return "x"', '    return "a"');
    const more =
      "```py:tests/test_more.py\nfrom mod_a import give\n\n\ndef test_more():\n    assert give() == 'a'\n```";
    await openPython([comment, proposal("Fix", `${right}\n${more}`)], {
      "src/mod_a.py": 'def give():\n    return "x"\n',
    });
    await at.send("/code3 comment src/mod_b.py");
    const before = listRuns().length;
    const reply = await at.send("/code3 fix give of src/mod_a.py");
    expect(reply.text.split("\n")[0]).toContain("8 passed (1 new, 1 fixed)");
    expect(
      listRuns()
        .slice(before)
        .filter(({ altered }) => altered),
    ).toEqual([
      { over: "draft", altered: true, files: ["test_a"] },
      { over: "draft", altered: true, files: ["test_more"] },
    ]);
  });

  test("where the affected tests judge alone, added tests ask the old ones nothing", async () => {
    await openPython(
      [proposal("Shout", `${upper}\n${shoutTest}`)],
      SLOW_TESTS,
      "checks: { auto_limit: 3 }\n",
    );
    const reply = await at.send("/code3 add shout to src/mod_a.py, with a test");
    expect(reply.text).toContain("1 new test, fails without the change");
    expect(listRuns().filter(({ altered }) => altered)).toEqual([
      { over: "draft", altered: true, files: ["test_a"] },
      { over: "draft", altered: true, files: ["test_b", "test_c", "test_d", "test_e", "test_f", "test_g"] },
    ]);
  });

  test("a suite that cannot end in time by its own pace is given up, and the reply says how long it would take", async () => {
    await openPython(
      [proposal("Say", replace("src/mod_a.py", "def give():", "# Gives.\ndef give():"))],
      SLOW_TESTS,
      "checks: { auto_limit: 90 }\n",
    );
    const from = performance.now();
    const reply = await at.send("/code3 comment src/mod_a.py");
    expect(reply.text).toMatch(/1 test in 1 file passed, .*; the whole suite \(\d+ min\) was not run/);
    expect((performance.now() - from) / 1000).toBeLessThan(80);
  }, 120_000);

  test("where only a lower rung judged the baseline, the draft begins with it", async () => {
    const broken = proposal("Try", replace("src/mod_a.py", '    return "a"', '    return "x"'));
    const right = proposal("Right", replace("src/mod_a.py", '    return "x"', '    return "a"  # as it was'));
    // Slow enough for the affected tests to run first.
    const slow = "import time\n\n\ndef test_slow():\n    time.sleep(6)\n";
    await openPython([comment, broken, right], {
      "tests/conftest.py": "import no_such_module\n",
      "tests/test_slow.py": slow,
    });
    await at.send("/code3 comment src/mod_b.py");
    const lines = () =>
      at.archive
        .list()
        .flatMap(({ jobId }) => at.archive.events(jobId))
        .flatMap(({ event }) => (event.type === "check_finished" ? [event.command] : []));
    const before = lines().length;
    expect((await at.send("/code3 change src/mod_a.py")).ok).toBe(true);
    expect(
      lines()
        .slice(before)
        .filter((line) => !line.includes("--noconftest")),
    ).toEqual([]);
    expect(lines().length - before).toBeLessThanOrEqual(6);
  }, 300_000);

  test("where the affected tests judge alone, only a changed test file is run in its old version", async () => {
    const stronger = replace(
      "tests/test_a.py",
      '    assert give() == "a"',
      '    assert give() == "a" != "b"',
    );
    await openPython(
      [proposal("Stronger", `${upper}\n${stronger}`)],
      SLOW_TESTS,
      "checks: { auto_limit: 3 }\n",
    );
    expect((await at.send("/code3 add shout to src/mod_a.py")).text).toContain(
      "7 tests in 7 files passed, all 7 affected files; the whole suite (over 3 s) was not run",
    );
    expect(listRuns().filter(({ altered }) => altered)).toEqual([
      { over: "draft", altered: true, files: ["test_a"] },
      { over: "draft", altered: true, files: ["test_a"] },
      { over: "draft", altered: true, files: ["test_b", "test_c", "test_d", "test_e", "test_f", "test_g"] },
    ]);
  });

  test("tests that were red before and stay red cost nothing more", async () => {
    await openPython([proposal("Say", replace("src/mod_a.py", "def give():", "# Gives.\ndef give():"))], {
      "tests/test_z.py": "def test_z():\n    assert False\n",
    });
    const reply = await at.send("/code3 comment src/mod_a.py");
    expect(reply.ok).toBe(true);
    expect(listRuns().map(({ over, files }) => `${over} ${files}`)).toEqual(["baseline ", "draft "]);
  });

  test("a test that the change fixes is run once more over the old code, alone", async () => {
    await openPython([proposal("Fix", replace("src/mod_a.py", '    return "x"', '    return "a"'))], {
      "src/mod_a.py": 'def give():\n    return "x"\n',
    });
    const reply = await at.send("/code3 fix give of src/mod_a.py");
    expect(reply.ok).toBe(true);
    expect(listRuns()).toEqual([
      { over: "baseline", altered: false, files: [] },
      { over: "draft", altered: false, files: [] },
      { over: "baseline", altered: false, files: ["test_a"] },
    ]);
  });

  test("the next message starts from what the last one measured", async () => {
    await openPython([
      proposal("Say", replace("src/mod_a.py", "def give():", "# Gives.\ndef give():")),
      proposal("Say", replace("src/mod_b.py", "def give():", "# Gives.\ndef give():")),
    ]);
    await at.send("/code3 comment src/mod_a.py");
    const before = listRuns().length;
    await at.send("/code3 comment src/mod_b.py");
    expect(listRuns().slice(before)).toEqual([{ over: "draft", altered: false, files: [] }]);
  });
});

test.if(python)("a command that the checks ran counts as failed in each red attempt", async () => {
  const breaks = '```py:src/mod_a.py\ndef give():\n    return "A"\n```\n```bash\npython3 -m pytest -q\n```';
  // The affected tests judge the first attempt, and all tests the second one.
  await openPython([proposal("Break", breaks), proposal("Break", breaks)]);
  const reply = await at.send("/code3 shout in src/mod_a.py");
  expect(reply.text).toContain("Run: 3, succeeded: 2, failed: 1\n");
  expect(reply.jobs[0]).toMatchObject({ status: "worse", executed_cmds: 2, failed_cmds: 1 });
  const failed = at.archive
    .events(reply.jobs[0]?.job_id as string)
    .flatMap(({ event }) => (event.type === "command_finished" && !event.success ? [event] : []));
  expect(failed).toMatchObject([1, 2].map((attempt) => ({ attempt, error: "exit status 1" })));
});

/** What was run, without what each run says of itself. */
const inShort = () =>
  listRuns().map(({ over, altered, files }) => [over, ...(altered ? ["altered"] : []), ...files].join(" "));

describe.if(python)("the patterns of real tasks, with the price of their verdict", () => {
  test("attrs: a first attempt breaks a test, the second is right and brings a new one", async () => {
    await openPython([
      proposal("Try", `${replace("src/mod_a.py", '    return "a"', '    return "A"')}\n${shoutTest}`),
      proposal(
        "Right",
        replace(
          "src/mod_a.py",
          '    return "A"',
          '    return "a"\n\n\ndef shout():\n    return give().upper()',
        ),
      ),
    ]);
    const reply = await at.send("/code3 add shout to src/mod_a.py, with a test");
    expect(reply.text.split("\n")[0]).toBe("Applied: 2 files, python -m pytest -q 8 passed (1 new)");
    expect(reply.text).toContain("1 new test, fails without the change");
    // It was 18: the whole suite, the repeats and the proofs of both attempts.
    expect(inShort().length).toBeLessThanOrEqual(8);
    expect(inShort().filter((run) => run === "baseline" || run === "draft").length).toBeLessThanOrEqual(3);
  });

  test("tomlkit: tests that get other names and cases, with the change that they are for", async () => {
    const table = `import pytest
from mod_a import give


@pytest.mark.parametrize("name", ["a", "b"])
def test_gives(name):
    assert give(name) == name
`;
    await openPython([
      proposal(
        "Give any name",
        `${replace("src/mod_a.py", 'def give():\n    return "a"', 'def give(name="a"):\n    return name')}\n\`\`\`py:tests/test_a.py\n${table}\`\`\``,
      ),
    ]);
    const reply = await at.send("/code3 let give of src/mod_a.py take a name, as a table of tests");
    expect(reply.text.split("\n")[0]).toStartWith("Applied: 2 files, python -m pytest -q 8 passed");
    expect(reply.text).not.toContain("weakens");
    // It was 27 times the suite.
    expect(inShort()).toEqual(["baseline", "draft", "draft altered test_a", "draft altered test_a"]);
  });

  test("sqlparse: green at the first try, with a new test file", async () => {
    const more = `\`\`\`py:tests/test_shout.py\nfrom mod_a import shout\n\n\ndef test_shouts():\n    assert shout() == "A"\n\`\`\``;
    await openPython([proposal("Shout", `${upper}\n${more}`)]);
    const reply = await at.send("/code3 add shout to src/mod_a.py, with a test file of its own");
    expect(reply.text.split("\n")[0]).toBe("Applied: 2 files, python -m pytest -q 8 passed (1 new)");
    // It was 13 times the suite.
    expect(inShort().filter((run) => run !== "draft test_shout")).toEqual([
      "baseline",
      "draft",
      "draft altered test_shout",
    ]);
  });

  test("werkzeug: a file that hangs is begun once and left out, and the others judge", async () => {
    at = await openConversation(
      () => proposal("Say", replace("src/mod_a.py", "def give():", "# Gives.\ndef give():")),
      { config: "checks: { timeout: 8, auto_limit: 8 }\n" },
    );
    at.write("pyproject.toml", "[tool.pytest.ini_options]\n");
    for (const name of ["a", "b"]) {
      at.write(`src/mod_${name}.py`, `def give():\n    return "${name}"\n`);
      at.write(
        `tests/test_${name}.py`,
        `from mod_${name} import give\n\n\ndef test_gives_${name}():\n    assert give() == "${name}"\n`,
      );
    }
    at.write("tests/test_serve.py", "import time\n\n\ndef test_serves():\n    time.sleep(600)\n");
    const reply = await at.send("/code3 comment src/mod_a.py");
    expect(reply.text.split("\n")[0]).toBe("Applied: 1 file, python -m pytest -q 2 passed");
    expect(reply.text).toContain("Left out because they did not end without the change");
    const hung = at.archive
      .list()
      .flatMap(({ jobId }) => at.archive.events(jobId))
      .filter(({ event }) => event.type === "check_finished" && event.exit_code === null);
    expect(hung).toHaveLength(1);
  }, 120_000);
});

describe.if(requirePart("bwrap") && requirePart("node"))("the pattern of koa", () => {
  test("tests that are red for want of a build output cost nothing, and a right change lands", async () => {
    const head = 'import { test } from "node:test";\nimport assert from "node:assert";\n';
    const greet = 'export const greet = (name) => "hello " + name;';
    const greets = 'test("greets", () => assert.equal(greet("a"), "hello a"));';
    const patch = [
      replace("src/greet.mjs", greet, 'export const greet = (name) => "hello ".concat(name);'),
      replace(
        "test/greet.test.mjs",
        greets,
        `test("greets nobody", () => assert.equal(greet(""), "hello "));\n${greets}`,
      ),
    ].join("\n");
    at = await openConversation(() => proposal("挨拶を直す", patch), { env: { PATH: QUICK_NODE_PATH } });
    at.write("package.json", JSON.stringify({ type: "module", scripts: { test: "node --test" } }));
    at.write("src/greet.mjs", `${greet}\n`);
    at.write("test/greet.test.mjs", `${head}import { greet } from "../src/greet.mjs";\n${greets}\n`);
    for (const name of ["cjs", "esm"])
      at.write(
        `test/${name}.test.mjs`,
        `${head}test("the ${name} bundle greets", () => import("../dist/bundle.${name}"));\n`,
      );
    const reply = await at.send("/code3 greet を concat で書き直し、テストを追加・修正してください。");
    expect(reply.ok).toBe(true);
    expect(reply.text.split("\n")[0]).toContain("2 passed (1 new), 2 were red before and still are");
    // The test file that the change concerns may run first, and then once over the old code.
    expect(inShort().filter((run) => run !== "draft greet")).toEqual([
      "baseline",
      "draft",
      "draft altered greet",
    ]);
  });
});

describe.if(requirePart("bwrap") && requirePart("node"))(
  "a build that fails with and without the change",
  () => {
    const ERROR = "src/b.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.";
    const open = async (answer: string) => {
      at = await openConversation((_, number) => (number === 0 ? answer : "Nothing to add."));
      const test = 'import { test } from "node:test";\nimport "../src/a.mjs";\ntest("a", () => {});\n';
      const fails = `import { existsSync } from "node:fs";\nif (existsSync("bad")) { console.log(${JSON.stringify(ERROR)}); process.exit(2); }\n`;
      at.write("package.json", JSON.stringify({ scripts: { test: "node build.mjs && node --test" } }));
      at.write("build.mjs", fails);
      at.write("bad", "x\n");
      at.write("src/a.mjs", "export const a = 1;\n");
      at.write("test/a.test.mjs", test);
    };
    const comment = replace("src/a.mjs", "export const a", "// The first.\nexport const a");

    test("runs once more, and the reply names its error", async () => {
      await open(proposal("Say", comment));
      const reply = await at.send("/code3 comment src/a.mjs");
      expect(reply.text).toContain(
        `npm test failed before the change as well, and its output does not say which tests failed: ${ERROR}`,
      );
      expect(listRuns().map(({ over, altered }) => [over, altered])).toEqual([
        ["baseline", false],
        ["draft", false],
      ]);
    });

    test("and that the change mends is judged by the tests", async () => {
      await open(proposal("Build", `${comment}\n\n\`\`\`bash\nrm bad\n\`\`\``));
      const reply = await at.send("/code3 mend the build");
      expect(reply.text).toContain("npm test 1 test in 1 file passed");
    });
  },
);

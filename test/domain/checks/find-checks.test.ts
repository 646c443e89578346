import { describe, expect, test } from "bun:test";
import { findChecks } from "../../../src/domain/checks/find-checks.ts";
import { nameCheck } from "../../../src/domain/checks/findings.ts";
import { narrowLine } from "../../../src/domain/checks/narrow-check.ts";
import { packageScripts } from "../../../src/domain/checks/runners/package-scripts.ts";

/** `npm test` with mocha. */
const MOCHA = "npm test -- --reporter=spec";
const JEST = "--reporters=default --verbose";

test.each(["ruff", "flake8"])(
  "%s of the project's own environment is called, by the name that people type",
  (name) => {
    const texts = { "pyproject.toml": "[tool.ruff]\n", "setup.cfg": "[flake8]\n" };
    const settings = name === "ruff" ? "pyproject.toml" : "setup.cfg";
    const lint = (below: readonly string[]) =>
      findChecks({ names: [settings, ".venv"], texts: { [settings]: texts[settings] }, below }, null)
        .filter(({ kind }) => kind === "lint")
        .map(({ command, line }) => [command.split(" ")[0], line.split(" ")[0]]);
    expect(lint([`.venv/bin/${name}`, ".venv/bin/python"])).toEqual([[name, `.venv/bin/${name}`]]);
    expect(lint([`venv/bin/${name}`])).toEqual([[name, `venv/bin/${name}`]]);
    expect(lint([".venv/bin/python"])).toEqual([[name, name]]);
  },
);

test.each(["src", ".venv", "tests"])("a check of Python beside %s is named as people type it", (folder) => {
  const found = findChecks({ names: ["app.py", "test_app.py", "pytest.ini", folder], texts: {} }, null);
  const rungs = found.flatMap(({ instead = [], ...first }) => [first, ...instead]);
  expect(rungs.length).toBeGreaterThan(0);
  expect(rungs.map(({ line, command }) => nameCheck(line ?? command))).toEqual(
    rungs.map(({ command }) => command),
  );
});

describe("how a project is checked", () => {
  const checks = (names: string[], texts: Record<string, string> = {}, configured: string | null = null) =>
    findChecks({ names, texts }, configured).map(({ kind, command }) => `${kind}: ${command}`);
  /** The ladder of a project whose root has nothing but the folders of these paths. */
  const below = (paths: string[], texts: Record<string, string> = {}) => {
    const names = [...new Set(paths.map((path) => path.split("/")[0] ?? ""))];
    return findChecks({ names, texts, below: paths }, null).flatMap(({ command, instead = [] }) => [
      command,
      ...instead.map((rung) => rung.command),
    ]);
  };
  const LEDGER = [
    "python -m pytest -q",
    "python -m pytest -q -o addopts=",
    "python -m pytest -q --noconftest",
    "python -m unittest discover -v -s tests",
  ];
  const cases: readonly [what: string, got: () => string[], expected: string[]][] = [
    [
      "npm's scripts",
      () => checks(["package.json"], { "package.json": '{"scripts":{"test":"x","lint":"y"}}' }),
      ["test: npm test", "lint: npm run lint"],
    ],
    [
      "npm's own empty script is none",
      () =>
        checks(["package.json"], {
          "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\""}}',
        }),
      [],
    ],
    [
      "pnpm and yarn by their lock files",
      () => [
        ...checks(["package.json", "pnpm-lock.yaml"], { "package.json": '{"scripts":{"test":"x"}}' }),
        ...checks(["package.json", "yarn.lock"], { "package.json": '{"scripts":{"test":"x"}}' }),
      ],
      ["test: pnpm test", "test: yarn test"],
    ],
    ["pytest", () => checks(["requirements.txt", "tests"]), ["test: python -m pytest -q"]],
    ["a test beside its module", () => checks(["calc.py", "test_calc.py"]), ["test: python -m pytest -q"]],
    [
      "a test that pytest does not collect by its name",
      () => checks(["setup.py", "test.py"], { "test.py": "import io\nimport unittest\n" }),
      ["test: python -m pytest -q test.py"],
    ],
    [
      "a test.py where pytest is only a dependency",
      () =>
        checks(["pyproject.toml", "app.py", "test.py"], {
          "pyproject.toml": "[dependency-groups]\ndev = ['pytest']\n",
          "test.py": "import pytest\n",
        }),
      ["test: python -m pytest -q test.py"],
    ],
    [
      "a test.py beside settings of pytest, which name the tests",
      () =>
        checks(["pyproject.toml", "mypkg", "test.py"], {
          "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['mypkg/tests']\n",
          "test.py": "import sys\nimport pytest\nsys.exit(pytest.main())\n",
        }),
      ["test: python -m pytest -q"],
    ],
    [
      "a tests.py beside a conftest",
      () => checks(["conftest.py", "mypkg", "tests.py"], { "tests.py": "import unittest\n" }),
      ["test: python -m pytest -q"],
    ],
    [
      "a test.py beside tox, which runs the tests",
      () => checks(["tox.ini", "test.py"], { "test.py": "import unittest\n" }),
      ["test: tox"],
    ],
    [
      "a test.py beside tests below src",
      () => below(["src/pkg/test_a.py", "test.py"], { "test.py": "import unittest\n" }).slice(0, 1),
      ["python -m pytest -q"],
    ],
    ["a script called test.py", () => checks(["a.py", "test.py"], { "test.py": "print(1)\n" }), []],
    [
      "Python tests in their folder alone, with unittest below it",
      () => below(["tests/test_ledger.py"]),
      LEDGER,
    ],
    ["… one level down", () => below(["tests/unit", "tests/unit/ledger_test.py"]), LEDGER],
    [
      "… beside their module in src",
      () => below(["src/ledger.py", "src/test_ledger.py"]),
      [...LEDGER.slice(0, -1), "python -m unittest discover -v -s src"],
    ],
    ["a helper of tests in Python is no test", () => below(["tests/helper.py", "src/ledger.py"]), []],
    [
      "Python tests beside another language's are its helpers",
      () =>
        findChecks({ names: ["go.mod", "tests"], texts: {}, below: ["tests/test_api.py"] }, null).map(
          ({ command }) => command,
        ),
      ["go test ./..."],
    ],
    ["Python without tests", () => checks(["calc.py"]), []],
    [
      "ruff and flake8",
      () => [
        ...checks(["pyproject.toml"], { "pyproject.toml": "[tool.ruff]\n" }),
        ...checks(["setup.cfg"], { "setup.cfg": "[flake8]\n" }),
      ],
      ["lint: ruff check .", "lint: flake8"],
    ],
    [
      "Rust, Go",
      () => [...checks(["Cargo.toml"]), ...checks(["go.mod"])],
      ["test: cargo test", "test: go test ./..."],
    ],
    [
      "a Makefile",
      () => checks(["Makefile"], { Makefile: "all:\ntest: all\n\ttrue\n" }),
      ["test: make test"],
    ],
    [
      "bun by its lock file, a runner without a script, gradle and maven by their wrappers, tox, make check",
      () => [
        ...checks(["package.json", "bun.lock"], { "package.json": '{"scripts":{"test":"x"}}' }),
        ...checks(["package.json"], { "package.json": '{"devDependencies":{"vitest":"4"}}' }),
        ...checks(["build.gradle.kts", "gradlew"]),
        ...checks(["pom.xml"]),
        ...checks(["tox.ini"]),
        ...checks(["Makefile"], { Makefile: "check: all\n\ttrue\n" }),
      ],
      [
        "test: bun run test",
        "test: npx vitest run",
        "test: ./gradlew test",
        "test: mvn test",
        "test: tox",
        "test: make check",
      ],
    ],
    ["what the configuration says wins", () => checks(["Cargo.toml"], {}, "just test"), ["test: just test"]],
    ["a package.json that is no JSON", () => checks(["package.json"], { "package.json": "{" }), []],
  ];
  for (const [what, got, expected] of cases) test(what, () => expect(got()).toEqual(expected));
});

describe("the part of a check that is run", () => {
  const lineOf = (names: string[], text = "{}") =>
    findChecks({ names, texts: { "package.json": text } }, null)[0]?.line;
  const scripts = (all: Record<string, string>) => JSON.stringify({ scripts: all });
  const script = (test: string) => scripts({ test });
  const own = 'export PATH="$PWD/node_modules/.bin:$PATH"; ';
  const cases: readonly [string, string | undefined, string][] = [
    ["go", lineOf(["go.mod"]), "go test -v ./..."],
    ["cargo", lineOf(["Cargo.toml"]), "cargo test --no-fail-fast"],
    [
      "pytest",
      lineOf(["pytest.ini", "a.py"]),
      '"$(command -v python || command -v python3)" -m pytest -v -rpxXsfE --continue-on-collection-errors',
    ],
    [
      "pytest of the project",
      lineOf([".venv", "tests", "a.py"]),
      ".venv/bin/python -m pytest -v -rpxXsfE --continue-on-collection-errors",
    ],
    [
      "jest",
      lineOf(["package.json"], script("NODE_ENV=test jest --ci src")),
      "npm test -- --reporters=default --verbose",
    ],
    ["vitest", lineOf(["package.json", "yarn.lock"], script("vitest run")), "yarn test --reporter=verbose"],
    [
      "jest after something else",
      lineOf(["package.json"], script("tsc && jest")),
      "npm test -- --reporters=default --verbose",
    ],
    [
      "jest with a reporter of its own",
      lineOf(["package.json"], script("jest --silent")),
      `${own}jest --reporters=default --verbose`,
    ],
    ["mocha, whose settings may name another", lineOf(["package.json"], script("mocha")), MOCHA],
    [
      "mocha with dots",
      lineOf(["package.json"], script("mocha -R dot test")),
      `${own}mocha test --reporter=spec`,
    ],
    [
      "mocha with dots before something else",
      lineOf(["package.json"], script("nyc mocha --reporter min && tsc")),
      `${own}nyc mocha --reporter=spec && tsc`,
    ],
    [
      "node with dots",
      lineOf(["package.json"], script("node --test --test-reporter=dot a.js")),
      `${own}node --test a.js`,
    ],
    [
      "vitest that waits",
      lineOf(["package.json"], script("vitest watch")),
      `${own}vitest run --reporter=verbose`,
    ],
    [
      "jest that waits",
      lineOf(["package.json"], script("jest --watchAll")),
      `${own}jest --reporters=default --verbose`,
    ],
    [
      "jest with several reporters of its own",
      lineOf(["package.json"], script("jest --reporters default jest-junit --ci")),
      `${own}jest --ci --reporters=default --verbose`,
    ],
    ["mocha that waits", lineOf(["package.json"], script("mocha -w t")), `${own}mocha t --reporter=spec`],
    ["jest with a count of workers", lineOf(["package.json"], script("jest -w 2")), `npm test -- ${JEST}`],
    [
      "a program of the project",
      lineOf(["package.json"], script("node run.js --watch --silent")),
      "npm test",
    ],
    ["a pattern with two ampersands", lineOf(["package.json"], script("jest -t 'a && b'")), "npm test"],
    [
      "a runner in a script after one that changes its folder",
      lineOf(
        ["package.json"],
        scripts({ test: "npm run a && npm run b", a: "cd web && make", b: "jest --ci" }),
      ),
      "npm test",
    ],
    [
      "a runner before a program that npx brings",
      lineOf(["package.json"], scripts({ test: "mocha -R dot", posttest: "npx npm@10 audit" })),
      `${own}mocha --reporter=spec && npx npm@10 audit`,
    ],
    [
      "jest that waits, without a folder of programs",
      lineOf(["package.json", "yarn.lock", ".pnp.cjs"], script("jest --watch")),
      "yarn test",
    ],
    ["a report in JSON", lineOf(["package.json"], script("jest --json")), "npm test"],
    ["a runner among other things", lineOf(["package.json"], script("server & mocha -R dot")), "npm test"],
  ];
  for (const [what, line, expected] of cases) test(what, () => expect(line).toBe(expected));

  test("jest reads no test file as a reporter", () => {
    const line = lineOf(["package.json"], script("jest --silent")) ?? "";
    expect(narrowLine(line, ["a.test.js"], new Map())).toBe(`${own}jest ${JEST} a.test.js`);
    expect(line).toMatch(/ --reporters=\S+ --\S+$/);
  });
});

describe("a test script of which not everything is installed", () => {
  /** As the package `qs` has it. */
  const scripts = {
    pretest: "npm run --silent readme && npm run --silent lint",
    test: "npm run tests-only",
    "tests-only": "nyc --all tape 'test/**/*.js'",
    posttest: "npx npm@'>=10.2' audit --production",
    readme: "evalmd README.md",
    lint: "eslint .",
  };
  const found = (programs: readonly string[] | "linked", more: object = scripts) =>
    findChecks(
      {
        names: ["package.json", "node_modules"],
        texts: { "package.json": JSON.stringify({ scripts: more, devDependencies: { tape: "5" } }) },
        programs,
      },
      null,
    );
  test("runs its tests alone, and names the parts that cannot run", () =>
    expect(found(["tape"])).toMatchObject([
      {
        kind: "test",
        command: "tape 'test/**/*.js'",
        line: `export PATH="$PWD/node_modules/.bin:$PATH"; tape 'test/**/*.js'`,
        leftOut: ["evalmd README.md", "eslint .", "npx npm@'>=10.2' audit --production"],
      },
    ]));
  test("runs the program itself where a script would load its package manager first, and behind a linked node_modules", () => {
    const jest = {
      command: "jest",
      line: `export PATH="$PWD/node_modules/.bin:$PATH"; jest --reporters=default --verbose`,
    };
    const script = { test: "corepack pnpm jest" };
    expect(found(["jest"], script)).toMatchObject([jest]);
    expect(found("linked", script)).toMatchObject([jest]);
    expect(found([], script)).toMatchObject([{ missing: "jest" }]);
    expect(found("linked", { test: "tsc && jest" })).toMatchObject([{ command: "npm test" }]);
  });
  test("runs every part that it can where its package manager is not on the PATH", () => {
    const project = (lock: string, test: string, programs: readonly string[]) =>
      findChecks(
        {
          names: ["package.json", "node_modules", lock],
          texts: { "package.json": JSON.stringify({ scripts: { test, unit: "vitest run" } }) },
          programs,
          isOnPath: (program) => program === "python3",
        },
        null,
      )[0];
    expect(project("bun.lock", "tsc --noEmit && bun run unit", ["tsc", "vitest"])).toMatchObject({
      command: "tsc --noEmit && vitest run",
      line: `export PATH="$PWD/node_modules/.bin:$PATH"; tsc --noEmit && vitest run --reporter=verbose`,
      instead: [{ command: "vitest run" }],
    });
    expect(project("pnpm-lock.yaml", "pnpm unit", ["vitest"])?.command).toBe("vitest run");
    expect(project("yarn.lock", "yarn unit && flow check", ["vitest"])).toMatchObject({
      command: "vitest run",
      leftOut: ["flow check"],
    });
    expect(project("package-lock.json", "no-such-pm lint && python3 x.py && node --test", [])).toMatchObject({
      command: "python3 x.py && node --test",
      leftOut: ["no-such-pm lint"],
    });
    const quoted = `node -e "if (1 && \\"a && b\\") f('x')" && vitest -t 'a && b' && flow check`;
    expect(project("package-lock.json", quoted, ["vitest"])).toMatchObject({
      command: quoted.replace(" && flow check", ""),
      leftOut: ["flow check"],
      instead: [{ command: "vitest -t 'a && b'" }],
    });
    // No installation brings what no dependency names.
    const script = "mkdir -p out && deno test -A";
    expect(project("package-lock.json", script, [])).toEqual({
      kind: "test",
      command: "npm test",
      line: script,
      script,
    });
  });
  test("keeps the coverage that is there", () =>
    expect(found(["tape", "nyc"])[0]?.command).toBe("nyc --all tape 'test/**/*.js'"));
  test("cannot run without its runner", () =>
    expect(found(["nyc"])[0]).toMatchObject({ command: "npm test", missing: "evalmd" }));
  test("is the script itself where everything is there, and its linter is not run twice", () => {
    const whole = { test: "npm run lint && npm run unit", lint: "standard", unit: "nyc node test.js" };
    expect(found(["nyc", "standard"], whole)).toMatchObject([
      { kind: "test", command: "npm test", line: "npm test" },
    ]);
    expect(found(["nyc"], whole)[0]?.command).toBe("nyc node test.js");
  });
  test("may run in circles", () =>
    expect(found(["tape"], { test: "npm run a", a: "npm test && tape x" })).toHaveLength(1));
});

describe("whether dependencies are installed", () => {
  const missing = (names: string[], manifest: object) =>
    findChecks({ names, texts: { "package.json": JSON.stringify(manifest) } }, null).map(
      (check) => check.missing,
    );
  const scripts = { test: "mocha", lint: "eslint ." };
  test("a project that needs packages and has none cannot be checked", () =>
    expect(missing(["package.json"], { scripts, devDependencies: { mocha: "1" } })).toEqual([
      "node_modules",
      "node_modules",
    ]));
  test("one that has them, plugs them in, or needs none can", () => {
    const none = [undefined, undefined];
    expect(missing(["package.json", "node_modules"], { scripts, dependencies: { a: "1" } })).toEqual(none);
    expect(missing(["package.json", ".pnp.cjs"], { scripts, dependencies: { a: "1" } })).toEqual(none);
    expect(missing(["package.json"], { scripts, dependencies: {} })).toEqual(none);
    expect(missing(["package.json"], { scripts, workspaces: ["packages/*"] })).toEqual(none);
  });
  test("an installation may bring what a workspace, a peer or an option needs", () => {
    const found = (manifest: object, more: readonly string[] = []) => {
      const text = JSON.stringify({ scripts: { test: "vitest run" }, ...manifest });
      const names = ["package.json", ...more];
      const files = { names, texts: { "package.json": text }, isOnPath: () => false };
      return [findChecks(files, null)[0]?.missing, packageScripts.findInstall?.(files)];
    };
    const locked = ["package-lock.json"];
    expect(found({ workspaces: ["packages/*"] }, locked)).toEqual(["vitest", "npm ci"]);
    expect(found({ workspaces: { packages: ["a"] } }, ["yarn.lock"])).toEqual(["vitest", "yarn install"]);
    expect(found({ peerDependencies: { vitest: "1" } }, locked)).toEqual(["vitest", "npm ci"]);
    expect(found({ optionalDependencies: { vitest: "1" } })).toEqual(["vitest", "npm install"]);
    expect(found({}, ["pnpm-workspace.yaml"])).toEqual(["vitest", "pnpm install"]);
    expect(found({ workspaces: [] }, locked)).toEqual([undefined, null]);
  });
});

describe("below a check that cannot run", () => {
  const found = (files: Parameters<typeof findChecks>[0]) => findChecks(files, null)[0];
  const scripts = (test: string) => ({ "package.json": JSON.stringify({ scripts: { test } }) });
  test("stand the runners of a script, without its package manager and its linter", () => {
    const names = ["package.json", "node_modules", "pnpm-lock.yaml"];
    const whole = { names, texts: scripts("pnpm vitest run"), programs: ["vitest"] };
    expect(found(whole)).toMatchObject({ command: "pnpm test", instead: [{ command: "vitest run" }] });
    expect(found(whole)?.instead?.[0]?.line).toEndWith("vitest run --reporter=verbose");
    const linted = { ...whole, texts: scripts("pnpm lint && vitest run") };
    expect(found(linted)).toMatchObject({ command: "vitest run" });
  });
  test("stand unittest, and pytest without a conftest; src is tested, and no other copy", () => {
    const python = found({ names: ["pyproject.toml", "src", "tests"], texts: {} });
    expect(python?.line).toStartWith('PYTHONPATH="$PWD/src');
    expect(python?.instead?.map(({ command }) => command)).toEqual([
      "python -m pytest -q -o addopts=",
      "python -m pytest -q --noconftest",
      "python -m unittest discover -v -s tests",
    ]);
    expect(found({ names: ["tox.ini"], texts: {} })?.instead?.[0]?.command).toBe("python -m pytest -q");
  });
  test("stand a crate's own tests; a target of tests and ctest are found", () => {
    expect(found({ names: ["Cargo.toml"], texts: {} })?.instead?.[0]?.command).toBe(
      "cargo test --lib --bins",
    );
    expect(
      found({ names: ["Makefile"], texts: { Makefile: "sds-test: sds.c\n\tcc -o sds-test sds.c\n" } })
        ?.command,
    ).toBe("make sds-test");
    expect(found({ names: ["CMakeLists.txt"], texts: {} })?.command).toBe("ctest");
    expect(found({ names: ["Rakefile", "test"], texts: {} })?.command).toBe("rake test");
  });
  test("stand ctest's named tests, where a Makefile beside them has a target of its own", () => {
    const Makefile = "test: tests\n\t./demo\n";
    const names = ["Makefile", "CMakeLists.txt"];
    const tested = { Makefile, "CMakeLists.txt": "project(p)\nif(TESTS)\n  enable_testing()\nendif()\n" };
    expect(found({ names, texts: tested })).toMatchObject({
      command: "ctest",
      instead: [{ command: "make test", line: "make test" }],
    });
    const built = { Makefile, "CMakeLists.txt": "# enable_testing()\nproject(p)\n" };
    expect(found({ names, texts: built })?.command).toBe("make test");
  });
});

describe("a package whose tests load what a script builds", () => {
  const files = (scripts: object, loadsBuilt = true) => ({
    names: ["package.json", "node_modules"],
    texts: { "package.json": JSON.stringify({ scripts }) },
    programs: ["tsc", "mocha", "eslint", "rimraf"],
    loadsBuilt,
  });
  const own = 'export PATH="$PWD/node_modules/.bin:$PATH"; ';

  test("builds before some of its tests run alone, as its own script does, and does not lint", () => {
    const scripts = {
      pretest: "npm run lint && npm run compile -- -p test.json",
      compile: "rimraf build && tsc",
      lint: "eslint .",
      test: "mocha test/*.mjs",
    };
    const [check] = findChecks(files(scripts), null);
    const built = `${own}{ rimraf build && tsc -p test.json; } || exit; `;
    expect(check).toMatchObject({ command: "npm test", runner: `${built}mocha test/*.mjs --reporter=spec` });
    expect(narrowLine(check?.runner ?? "", ["test/a.mjs"], new Map())).toBe(
      `${built}mocha --reporter=spec test/a.mjs`,
    );
  });

  test("does not wait for the types where vitest compiles by itself, unless tests load what tsc makes", () => {
    const runner = (loadsBuilt: boolean) => {
      const project = files({ test: "tsc -p spec.json && vitest --run" }, loadsBuilt);
      return findChecks({ ...project, programs: ["tsc", "vitest"] }, null)[0]?.runner;
    };
    expect(runner(false)).toBe(`${own}vitest --run --reporter=verbose`);
    expect(runner(true)).toBe(`${own}{ tsc -p spec.json; } || exit; vitest --run --reporter=verbose`);
  });

  test("is built first where its script does not, and tested as it is where that cannot be", () => {
    const scripts = { build: "tsc", test: "mocha test/*.mjs" };
    expect(findChecks(files(scripts), null)[0]).toMatchObject({
      command: "npm run build && npm test",
      line: `${own}{ tsc; } || exit; ${MOCHA}`,
      runner: `${own}{ tsc; } || exit; mocha test/*.mjs --reporter=spec`,
      instead: [{ command: "npm test", line: MOCHA }, { command: "mocha test/*.mjs" }],
    });
    expect(findChecks(files(scripts, false), null)[0]).toMatchObject({ command: "npm test" });
  });
});

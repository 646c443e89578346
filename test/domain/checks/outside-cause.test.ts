import { describe, expect, test } from "bun:test";
import { retryCheck } from "../../../src/domain/checks/narrow-check.ts";
import { findOutsideCause, findUnableChecks } from "../../../src/domain/checks/outside-cause.ts";
import { settleRedTests } from "../../../src/domain/checks/settle-red.ts";
import type { CheckResult } from "../../../src/domain/checks/verdict.ts";

const MAVEN = `[INFO] Scanning for projects...
[INFO] Compiling 91 source files with javac [debug release 17] to target/classes
[WARNING] src/main/java/org/jsoup/helper/W3CDom.java:[10,5] deprecated
[INFO] --- animal-sniffer-maven-plugin:1.23:check (animal-sniffer) @ jsoup ---
[INFO] BUILD FAILURE
[INFO] Total time:  3.481 s
[ERROR] Failed to execute goal org.codehaus.mojo:animal-sniffer-maven-plugin:1.23:check (animal-sniffer) on project jsoup: Failed to obtain signature: org.codehaus.mojo.signature:java18:1.0: Could not transfer artifact: central: Unknown host -> [Help 1]
[ERROR] Re-run Maven using the -X switch to enable full debug logging.`;
const ESLINT = `
> eslint@9.0.0 test
> node Makefile.js test

node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module 'npm-license'
Require stack:
- /home/kim/eslint/Makefile.js
    at Module._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at Object.<anonymous> (Makefile.js:13:17) {
  code: 'MODULE_NOT_FOUND'
}`;

describe("a check that ends before its first test", () => {
  test.each([
    ["a plug-in that cannot download", MAVEN, "animal-sniffer-maven-plugin"],
    ["a package that is not installed", ESLINT, "Cannot find module 'npm-license'"],
    ["a port that is taken", "Error: listen EADDRINUSE: address already in use :::3000", "EADDRINUSE"],
    ["a tool that is missing", "sh: 1: protoc: not found", "protoc: not found"],
    [
      "Gradle without network",
      "* What went wrong:\n> Could not resolve all files for configuration ':x'.",
      "Could not resolve",
    ],
    [
      "a host that is out of reach",
      "error: failed to get `serde`\ncould not resolve host: index.crates.io",
      "resolve host",
    ],
  ])("cannot run for %s", (_, output, cause) => {
    expect(findOutsideCause(output)?.cause).toContain(cause);
  });

  test.each([
    [
      "javac",
      `${MAVEN}\n[ERROR] /home/kim/jsoup/src/main/java/org/jsoup/Jsoup.java:[12,8] cannot find symbol`,
    ],
    ["tsc", "src/a.ts(3,5): error TS2307: Cannot find module 'left-pad'."],
    [
      "a bundler",
      "Module not found: Error: Can't resolve './missing' in '/w/src'\nError: Cannot find module './missing'",
    ],
    ["Rust", "error: could not resolve host\n --> src/lib.rs:3:5"],
    [
      "Python",
      'Traceback (most recent call last):\n  File "src/a.py", line 3, in <module>\nConnectionError: dial tcp',
    ],
    [
      "the compiler's goal",
      "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.1:compile: Compilation failure",
    ],
    ["a test", "not ok 1 - connects\n# connect ECONNREFUSED"],
    ["an error of the code alone", "expected 3, got 4"],
    ["a script of the project that is missing", "sh: 1: ./build.sh: not found"],
  ])("is red for an error of %s", (_, output) => {
    expect(findOutsideCause(output)).toBeNull();
  });
});

function red(output: string): CheckResult {
  const outside = findOutsideCause(output);
  const failure = { message: output, places: [], tail: output, ...(outside !== null && { outside }) };
  return { kind: "test", command: "mvn test", state: "red", results: null, failure };
}
const change = (paths: string[], text?: string) => ({
  paths,
  declarations: text === undefined ? [] : [{ kind: "fixes", text } as const],
});
const SOURCE = ["src/main/java/org/jsoup/Jsoup.java"];

describe("a check that ends for one outside cause over the old code and over the draft", () => {
  test("cannot run, also if times and counts differ", () => {
    const now = red(MAVEN.replace("3.481", "9.2").replace("91 source", "1 source"));
    expect(findUnableChecks([red(MAVEN)], [now], change(SOURCE))).toMatchObject([{ command: "mvn test" }]);
  });

  test.each([
    [
      "the cause is another one",
      [red(MAVEN)],
      red(MAVEN.replace("Could not transfer artifact", "EADDRINUSE")),
      change(SOURCE),
    ],
    [
      "it was green before",
      [{ ...red(MAVEN), state: "green", failure: undefined } as never],
      red(MAVEN),
      change(SOURCE),
    ],
    ["the change touches a file of the build", [red(MAVEN)], red(MAVEN), change([...SOURCE, "pom.xml"])],
    ["the change touches a file that the error names", [red(ESLINT)], red(ESLINT), change(["Makefile.js"])],
    ["the coder declares that it fixes the check", [red(MAVEN)], red(MAVEN), change(SOURCE, "mvn test")],
  ])("is red if %s", (_, before, now, about) => {
    expect(findUnableChecks(before, [now], about)).toEqual([]);
  });
});

test("Maven tries again offline and without the plug-in that failed, and never without the compiler or the tests", () => {
  const cause = findOutsideCause(MAVEN)?.cause ?? "";
  const line = "mvn -B -fae test; s=$?";
  expect(retryCheck({ command: "mvn test", line }, cause)).toEqual({
    command: "mvn -o -Danimal.sniffer.skip=true -Danimal.sniffer.check.skip=true test",
    line: "mvn -o -Danimal.sniffer.skip=true -Danimal.sniffer.check.skip=true -B -fae test; s=$?",
  });
  expect(retryCheck({ command: "mvn test", line }, "Could not transfer artifact a:b")?.command).toBe(
    "mvn -o test",
  );
  expect(retryCheck({ command: "./gradlew test", line: "./gradlew test" }, "x")?.line).toBe(
    "./gradlew --offline test",
  );
  expect(retryCheck({ command: "cargo test", line: "cargo test" }, "x")?.line).toBe("cargo test --offline");
  expect(retryCheck({ command: "npm test", line: "npm test" }, "x")).toBeNull();
});

test("each line `Not mine` that does not count is answered with the fact that refuses it", () => {
  const failing = (message: string): CheckResult => ({
    kind: "test",
    command: "make test",
    state: "red",
    results: null,
    failure: { message, places: [], tail: message },
  });
  const settle = (text: string, now: string) =>
    settleRedTests({
      declarations: [{ kind: "not-mine", text }],
      changed: ["a.c"],
      before: [failing("error: x")],
      results: [failing(now)],
      checks: [{ kind: "test", command: "make test", line: "make test" }],
      judgement: {
        verdict: "unknown",
        counts: null,
        worse: ["t"],
        mended: [],
        newFailing: [],
        weakened: [],
        weakensTests: false,
      },
      texts: new Map(),
    }).found;
  const ties = (text: string, now: string) => settle(text, now).refused?.map(({ tie }) => tie);
  expect(ties("make test: the compiler is old", "error: y")).toEqual(["message"]);
  expect(ties("make test", "error: x")).toEqual(["no-reason"]);
  expect(ties("nothing: so", "error: x")).toEqual(["unknown"]);
  expect(ties("t: so", "error: x")).toEqual(["passed-before"]);
  expect(settle("make test: the compiler is old", "error: x")).toMatchObject({
    refused: [],
    notMine: [{ test: "make test", reason: "the compiler is old" }],
  });
});

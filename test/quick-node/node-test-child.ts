/**
 * `node --test` for a project of a few files: as Node 20 tells it through a pipe, in one process and without Node's two
 * starts, which take longer than all the rest of a check.
 */
import { resolve } from "node:path";
import { plugin } from "bun";

type Body = () => unknown;

const cwd = process.cwd();
const declared: { readonly name: string; readonly body: Body }[] = [];
const test = (name: string, body: Body) => void declared.push({ name, body });
plugin({
  name: "tests of Node",
  setup(build) {
    build.module("quick:test", () => ({ exports: { test, default: test }, loader: "object" }));
    // The runtime's own "node:test" cannot be another.
    build.onLoad({ filter: /\.test\.[cm]?js$/ }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replaceAll('"node:test"', '"quick:test"'),
      loader: "js",
    }));
  },
});

const counts = { passed: 0, failed: 0 };
const say = (...lines: readonly string[]) => process.stdout.write(`${lines.join("\n")}\n`);

function tell(name: string, location: string, error: unknown): void {
  const number = counts.passed + counts.failed + 1;
  say(
    `# Subtest: ${name}`,
    `${error === null ? "" : "not "}ok ${number} - ${name}`,
    "  ---",
    "  duration_ms: 1",
  );
  if (error === null) {
    counts.passed += 1;
    say("  ...");
    return;
  }
  counts.failed += 1;
  const { message, code, stack } = error as Error & { readonly code?: string };
  say(`  location: '${location}:1:1'`, "  failureType: 'testCodeFailure'");
  if (message.includes("\n")) say("  error: |-", ...message.split("\n").map((line) => `    ${line}`));
  else say(`  error: '${message}'`);
  say(`  code: '${code ?? "ERR_TEST_FAILURE"}'`);
  if (stack) say("  stack: |-", ...stack.split("\n").map((line) => `    ${line.trim()}`));
  say("  ...");
}

say("TAP version 13");
const named = process.argv.slice(2);
const files = named.length > 0 ? named : [...new Bun.Glob("**/*.test.{mjs,js,cjs}").scanSync(cwd)];
for (const file of files.filter((file) => !file.includes("node_modules/")).sort()) {
  const path = resolve(cwd, file);
  declared.length = 0;
  try {
    await import(path);
  } catch (error) {
    say(
      ...String((error as Error).stack ?? error)
        .split("\n")
        .map((line) => `# ${line}`),
    );
    tell(path, path, Object.assign(new Error("test failed"), { stack: "" }));
    continue;
  }
  for (const { name, body } of declared)
    await Promise.resolve()
      .then(body)
      .then(
        () => tell(name, path, null),
        (error: unknown) => tell(name, path, error),
      );
}
say(`1..${counts.passed + counts.failed}`, `# tests ${counts.passed + counts.failed}`, "# suites 0");
say(`# pass ${counts.passed}`, `# fail ${counts.failed}`, "# cancelled 0", "# skipped 0", "# todo 0");
say("# duration_ms 1");
process.exit(counts.failed === 0 ? 0 : 1);

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Cli, createCli } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
  cli.write("package.json", JSON.stringify({ scripts: { test: "node --test", check: "tsc --noEmit" } }));
});
afterEach(() => cli.remove());

describe("picoclaw checks", () => {
  test("lists what judges a change, and what runs after the tests", () => {
    const { code, out } = cli.run(["checks"]);
    expect([code, out]).toEqual([
      0,
      "npm test\nAfter the tests: tsc --noEmit\nTo use another command: picoclaw checks --use COMMAND\n",
    ]);
  });

  test("takes a better command for this folder alone, until it is told to forget it", () => {
    const used = cli.run(["checks", "--use", "node --test a.test.mjs"]);
    expect(used.out).toBe(
      "node --test a.test.mjs\nYou chose node --test a.test.mjs; picoclaw checks --forget takes it back.\n",
    );
    expect(cli.run(["checks"]).out).toBe(used.out);
    const { out } = cli.run(["checks", "--forget", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ use: null, state: { checks: [{ command: "npm test" }] } });
  });
});

/** The user's own commands around landings, through the real program. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { proposal, replace } from "../application/chat/chat-kit.ts";
import { type ModelServer, startModelServer } from "../fakes/model-server/server.ts";
import { requirePart } from "../require.ts";
import { create, createCli, jobIdIn, shell } from "./cli-kit.ts";

let cli: ReturnType<typeof createCli>;
let server: ModelServer;
// Without bubblewrap they run in a copy, which has to be trusted: the folder is a stranger's here.
const confined = requirePart("bwrap") ? test : test.skip;

beforeEach(async () => {
  cli = createCli();
  server = await startModelServer();
  mkdirSync(cli.home);
  cli.write("a.txt", "one\n");
});
afterEach(async () => {
  await server.stop();
  await cli.remove();
});

const beside = (name: string) => join(cli.folder, name);

function configure(hooks: object): void {
  writeFileSync(join(cli.home, "config.yaml"), JSON.stringify({ ...server.config(), hooks }));
}

confined("a hook before landing sees the result, and lets a job of edits and one of commands land", () => {
  configure({ before_landing: ['grep -q two "$PICOCLAW_FILES"'] });
  for (const patch of [[create("a.txt", "two\n")], [shell("echo two > a.txt")]]) {
    cli.write("a.txt", "one\n");
    expect(cli.apply(patch)).toMatchObject({ code: 0, err: "" });
    expect(cli.read("a.txt")).toBe("two\n");
    expect(cli.run(["undo"]).code).toBe(0);
    expect(cli.read("a.txt")).toBe("one\n");
  }
});

confined("a hook that fails keeps the job as a preview, which the user may still apply", () => {
  configure({ before_landing: ["true", "echo no tabs please; echo x >> a.txt; exit 7"] });
  const ran = cli.apply([create("a.txt", "two\n")]);
  expect([ran.code, ran.out.split("\n", 1)[0]]).toEqual([1, "Preview, nothing applied"]);
  expect(ran.out).toContain("(before_landing) ended with 7:\nno tabs please");
  expect(cli.read("a.txt")).toBe("one\n");
  expect(cli.run(["apply", "--job", jobIdIn(ran.out)])).toMatchObject({ code: 0 });
  expect(cli.read("a.txt")).toBe("two\n");
});

confined("a coder's change is refused by name, and the hook for red runs", async () => {
  configure({
    before_landing: ["exit 3"],
    on_red: [`echo "$PICOCLAW_HOOK $PICOCLAW_JOB" > ${beside("red")}`],
  });
  server.say({ text: proposal("Two", replace("a.txt", "one", "two")) });
  const { code, out } = await cli.runAsync(["chat", "/code3 change a.txt"]);
  expect(out).toContain("`exit 3` (before_landing) ended with 3");
  expect(out.split("\n", 1)[0]).toStartWith("Preview, nothing applied");
  expect(code).toBe(1);
  expect(cli.read("a.txt")).toBe("one\n");
  expect(readFileSync(beside("red"), "utf8")).toBe(`on_red ${jobIdIn(out)}\n`);
});

test("hooks after a landing and after a message run in the workspace; one that fails is told, and nothing depends on it", async () => {
  configure({
    after_landing: [`printf %s "$PICOCLAW_FILES" > ${beside("landed")}`, "echo broken; exit 5"],
    after_message: [`echo "$PICOCLAW_CHAT $PICOCLAW_OK" > ${beside("message")}`],
  });
  server.say({ text: proposal("Two", replace("a.txt", "one", "two")) });
  const { code, out } = await cli.runAsync(["chat", "/code3 change a.txt"]);
  expect(out).toContain("(after_landing) ended with 5:\nbroken");
  expect(code).toBe(0);
  expect(cli.read("a.txt")).toBe("two\n");
  expect(readFileSync(beside("landed"), "utf8")).toBe("a.txt");
  expect(readFileSync(beside("message"), "utf8")).toMatch(/^cli:\S+ true\n$/);
});

test("a project's own file sets no hooks before it is trusted", () => {
  cli.write("picoclaw.yaml", `hooks:\n  after_landing: ["touch ${beside("owned")}"]\n`);
  const ran = cli.apply([create("b.txt", "b")]);
  expect(ran.code).toBe(0);
  expect(existsSync(beside("owned"))).toBe(false);
});

test("a hook that takes too long is ended", () => {
  configure({ after_landing: ["sleep 30"], timeout: 1 });
  const ran = cli.apply([create("b.txt", "b")]);
  expect(ran.out).toContain("`sleep 30` (after_landing) took too long");
  expect(ran.code).toBe(0);
});

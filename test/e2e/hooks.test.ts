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
  expect([ran.code, ran.out.split("\n", 1)[0]]).toEqual([1, "Preview, nothing applied: a hook refused it"]);
  expect(ran.out).toContain("(before_landing) ended with 7:\nno tabs please");
  expect(cli.read("a.txt")).toBe("one\n");
  expect(cli.run(["apply", "--job", jobIdIn(ran.out)])).toMatchObject({ code: 0 });
  expect(cli.read("a.txt")).toBe("two\n");
  expect(cli.run(["show", jobIdIn(ran.out)]).out).not.toContain("Not applied");
});

confined("a tool that a hook refuses names the hook, and the preview that waits", () => {
  configure({ before_landing: ["echo no tabs please; exit 7"] });
  const ran = cli.run(["tool", "write_file", JSON.stringify({ path: "a.txt", content: "two\n" })]);
  const { message, error } = cli.json(ran) as { message: string; error: { code: string } };
  expect([ran.code, error.code]).toEqual([1, "REFUSED"]);
  expect(message).toContain("(before_landing) ended with 7:\nno tabs please");
  const jobId = jobIdIn(message);
  expect(message).toContain(`picoclaw apply --job ${jobId}`);
  expect(cli.run(["apply", "--job", jobId]).code).toBe(0);
  expect(cli.read("a.txt")).toBe("two\n");
});

test("an applied preview has landed: the hook after a landing runs, and a failing one is reported", async () => {
  configure({ after_landing: [`printf %s "$PICOCLAW_FILES" > ${beside("landed")}`, "echo broken; exit 5"] });
  const preview = cli.apply([create("b.txt", "b")], ["--preview"]);
  expect(existsSync(beside("landed"))).toBe(false);
  const ran = cli.run(["apply", "--job", jobIdIn(preview.out)]);
  expect([ran.code, readFileSync(beside("landed"), "utf8")]).toEqual([0, "b.txt"]);
  expect(ran.out).toContain("(after_landing) ended with 5:\nbroken");
  server.say({ text: proposal("Two", replace("a.txt", "one", "two")) });
  await cli.runAsync(["chat", "/preview change a.txt"]);
  const applied = await cli.runAsync(["chat", "/apply"]);
  expect([applied.code, readFileSync(beside("landed"), "utf8")]).toEqual([0, "a.txt"]);
  expect(applied.out).toContain("(after_landing) ended with 5:\nbroken");
});

confined("a coder's change is refused by name, and the hook for red runs", async () => {
  configure({
    before_landing: ["exit 3"],
    on_red: [`echo "$PICOCLAW_HOOK $PICOCLAW_JOB" > ${beside("red")}`],
  });
  server.say({ text: proposal("Two", replace("a.txt", "one", "two")) });
  const { code, out } = await cli.runAsync(["chat", "/code3 change a.txt"]);
  expect(out).toContain("`exit 3` (before_landing) ended with 3");
  expect(out.split("\n", 1)[0]).toStartWith("Preview, nothing applied: a hook refused it");
  expect(out).not.toMatch(/Others changed|did not resolve/);
  expect(code).toBe(1);
  expect(cli.read("a.txt")).toBe("one\n");
  expect(readFileSync(beside("red"), "utf8")).toBe(`on_red ${cli.idOf(jobIdIn(out))}\n`);
});

test("hooks after a landing and after a message run in the workspace; a failing one is reported, and nothing depends on it", async () => {
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

test("a failing hook after a message is reported, after the reply", async () => {
  configure({ after_message: ["echo no sound card; exit 4"] });
  const expected = "(after_message) ended with 4:\nno sound card";
  const { code, out, err } = await cli.runAsync(["chat", "/dry"]);
  expect([code, out]).toEqual([0, expect.stringContaining("Dry mode")]);
  expect(err).toContain(expected);
  const json = await cli.runAsync(["chat", "--json", "/dry"]);
  expect(JSON.parse(json.out).success).toBe(true);
  expect(json.err).toContain(expected);
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

test("a program that a hook leaves running, with the hook's output open, does not hold the command", () => {
  configure({ after_landing: [`echo; sleep 1000 & echo $! > ${beside("pid")}`] });
  const began = performance.now();
  expect(cli.apply([create("b.txt", "b")])).toMatchObject({ code: 0, err: "" });
  expect(performance.now() - began).toBeLessThan(200_000);
  // It lives on: what a hook starts is the user's own.
  process.kill(Number(readFileSync(beside("pid"), "utf8")), "SIGKILL");
});

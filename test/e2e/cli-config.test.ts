import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { QUICK_NODE_PATH } from "../quick-npm.ts";
import { type Cli, create, createCli } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

describe("config", () => {
  test("show prints every key with its source, and no secret", () => {
    cli.write("picoclaw.yaml", "locale: en\nworker:\n  command_timeout: 60\n");
    const env = { PICOCLAW_WORKER_GIT_TIMEOUT: "7", ANTHROPIC_API_KEY: "sk-ant-api03-AAAABBBBCCCCDDDD" };
    const { code, out } = cli.run(["config", "show"], { env });
    expect(code).toBe(0);
    expect(out).toContain("worker.command_timeout: 60  # ");
    expect(out).toContain("worker.git_timeout: 7  # PICOCLAW_WORKER_GIT_TIMEOUT");
    expect(out).toContain('worker.commit_message_prefix: "[Worker Auto-Commit]"\n');
    expect(out).not.toContain("sk-ant-api03-AAAABBBBCCCCDDDD");
    const json = cli.json(cli.run(["config", "show", "--json"], { env }));
    expect(json).toMatchObject({ workspace: cli.workspace, home: cli.home });
  });

  test("check judges: valid, unknown key with the nearest, a secret in the file", () => {
    const key = { ANTHROPIC_API_KEY: "sk-ant-api03-AAAABBBBCCCCDDDD" };
    expect(cli.run(["config", "check"], { env: key })).toMatchObject({ code: 0, err: "" });
    cli.write("picoclaw.yaml", "worker:\n  auto_comit: true\n");
    const { code, err } = cli.run(["config", "check"]);
    expect(code).toBe(2);
    expect(err).toContain("unknown key worker.auto_comit (did you mean worker.auto_commit?)");
    expect(cli.json(cli.run(["config", "check", "--json"]))).toMatchObject({ ok: false });
  });

  test("check warns of valid settings that cannot work: a cloud that may not talk, a key that is missing", () => {
    mkdirSync(cli.home, { recursive: true });
    const file = join(cli.home, "config.yaml");
    writeFileSync(file, "roles:\n  chat: { provider: claude }\n");
    const { code, err } = cli.run(["config", "check"]);
    expect(code).toBe(0);
    expect(err).toContain("roles.chat cannot work as it is: chat may only use a local model");
    expect(err).toContain("roles.coder3 cannot work as it is: claude has no key");
    expect(cli.json(cli.run(["config", "check", "--json"]))).toMatchObject({
      ok: true,
      cannot_work: [
        { role: "chat", code: "refused-remote" },
        { role: "coder3", code: "no-key" },
      ],
    });
  });

  test.each([
    ["{", "JSON"],
    ['{ "models": { "mine": { "contxt": 8192 } } }', "models.mine"],
  ])("check refuses a models.json that is not in force: %s", (text, detail) => {
    mkdirSync(cli.home, { recursive: true });
    const file = join(cli.home, "models.json");
    writeFileSync(file, text);
    const { code, out, err } = cli.run(["config", "check"]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(`${file}: this table of models cannot be read (${detail})`);
    expect(cli.json(cli.run(["config", "check", "--json"]))).toMatchObject({
      ok: false,
      errors: [{ code: "unreadable-table", detail, at: { file } }],
    });
    writeFileSync(file, '{ "models": { "mine": { "context": 8192 } } }');
    expect(cli.run(["config", "check"])).toMatchObject({ code: 0 });
  });

  test("trust lets this folder's file widen power until it changes", () => {
    cli.write("a.key", "old");
    cli.write("picoclaw.yaml", "worker:\n  action_on_protected_file: log\n");
    const change = () => cli.apply([create("a.key", "new")]);
    expect(change()).toMatchObject({
      code: 1,
      err: expect.stringContaining("worker.action_on_protected_file"),
    });
    expect(cli.run(["trust"])).toMatchObject({ code: 0, err: "" });
    expect(change()).toMatchObject({ code: 0, err: "" });
    cli.write("picoclaw.yaml", "worker:\n  action_on_protected_file: log\n  run_hooks: true\n");
    expect(change().code).toBe(1);
  });

  test("trust of a folder that is not there is refused", () => {
    expect(cli.run(["trust", "--workspace", "nowhere"])).toEqual({
      code: 3,
      out: "",
      err: "There is no such folder.\n",
    });
    expect(cli.json(cli.run(["trust", "--json", "--workspace", "nowhere"]))).toMatchObject({
      success: false,
      error: { code: "no-folder" },
    });
  });
});

describe("doctor", () => {
  test("says what works here and how jobs are staged", () => {
    const { code, out } = cli.run(["doctor"]);
    expect(code).toBe(0);
    expect(out).toContain("✓ git version");
    expect(out).toContain("Transaction: ");
    expect(cli.json(cli.run(["doctor", "--json"])).checks).toContainEqual(
      expect.objectContaining({ name: "git", ok: true }),
    );
  });

  test("names a remedy for a missing part", () => {
    const bin = join(cli.folder, "bin");
    mkdirSync(bin);
    for (const name of ["sh", "bash", "readlink"]) symlinkSync(`/usr/bin/${name}`, join(bin, name));
    const { code, out } = cli.run(["doctor"], { env: { PATH: bin } });
    expect(code).toBe(1);
    expect(out).toContain("✗ git was not found.\n    → Install git (for example: apt install git).\n");
  });
});

test("the demo fixes a failing test, undoes rm -rf .git node_modules src byte for byte, and leaves nothing behind", async () => {
  // Its checks run the project's tests four times: on a busy machine that takes longer than a command may. The test of a
  // stranger's first minutes runs them by npm and Node themselves.
  const child = cli.start(["demo"], { PATH: QUICK_NODE_PATH });
  let out = "";
  child.stdout?.on("data", (data) => {
    out += String(data);
  });
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect([code, out]).toEqual([0, expect.any(String)]);
  const steps = ["$ picoclaw chat\n\n› Fix the failing test", "› !rm -rf .git node_modules src", "› /undo"];
  for (const step of steps) expect(out).toContain(`${step}\n\n●`);
  expect(out).toContain("4 +   for (const { price, quantity = 1 } of items) sum += price * quantity;\n");
  for (const folder of [".git", "node_modules", "src"])
    expect(out).toMatch(new RegExp(`^ +${folder.replace(".", "\\.")}/ · \\d+ files? deleted$`, "m"));
  expect(out).toMatch(/↶ Undone: all \d+ files are back, byte for byte\n/);
  expect(out.trimEnd()).toEndWith("Connect your model: picoclaw init");
  expect(cli.json(cli.run(["jobs", "--all", "--json"])).jobs).toEqual([]);
}, 300_000);

/** An operator's change in the console reaches the file, keeps its comments, and takes effect at once. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createServer, type Server, signIn, type Visitor } from "./web-kit.ts";

const NOTES = "# Ours, by hand.\nloop:\n  max_loops: 4   # enough\n\n# The end.\n";

describe("settings in the console", () => {
  let server: Server;
  let operator: Visitor;
  const file = () => readFileSync(join(server.home, "config.yaml"), "utf8");
  const press = async (path: string, fields: Readonly<Record<string, string>>) => {
    const answer = await operator.post(path, fields);
    const page = await operator.text(answer.headers.get("location") ?? "/nowhere");
    return /role="(?:status|alert)">([\s\S]*?)<\/div>/.exec(page)?.[1]?.replace(/<[^>]+>/g, " ") ?? page;
  };

  beforeAll(async () => {
    server = await createServer({
      config: NOTES,
      providers: "  far: { type: openai-compatible, base_url: https://far.invalid/v1, model: far-1 }\n",
      env: { PICOCLAW_ROLES_WORKER_MODEL: "demo" },
    });
    operator = await signIn(server.login);
  }, 300_000);
  afterAll(() => server?.close());

  test("a budget is written where no budget was, and every other line stays", async () => {
    const before = file();
    expect(await press("/manage/budget", { daily: "5", on_exceed: "refuse" })).toContain("Saved");
    expect(file()).toBe(`${before}\nbudget:\n  daily: 5\n  on_exceed: refuse\n`);
    expect(await press("/manage/budget", { daily: "much", on_exceed: "refuse" })).toContain(
      "number of dollars",
    );
    expect(await press("/manage/budget", { daily: "", on_exceed: "local" })).toContain("Saved");
    expect(file()).toBe(`${before}\nbudget:\n  daily: null\n  on_exceed: local\n`);
    expect(await press("/manage/notify", { chat: "nowhere" })).toContain("Nothing was saved");
    expect(await press("/manage/notify", { chat: "slack:C1" })).toContain("Saved");
    expect(file().endsWith("\nnotify:\n  chat: slack:C1\n")).toBe(true);
    writeFileSync(join(server.home, "config.yaml"), before);
  }, 300_000);

  test("a model is replaced in its place; an unknown one is not written", async () => {
    const before = file();
    expect(await press("/manage/roles/coder2", { provider: "demo", model: "other" })).toContain("Saved");
    expect(file()).toBe(
      before.replace("coder2: { provider: demo, model: demo }", "coder2: { provider: demo, model: other }"),
    );
    expect((await operator.text("/system")).includes("demo/other: answers")).toBe(true);
    const now = file();
    expect(await press("/manage/roles/coder2", { provider: "nobody", model: "x" })).toContain(
      "Nothing was saved",
    );
    expect(await press("/manage/roles/worker", { provider: "demo", model: "x" })).toContain(
      "set by PICOCLAW_ROLES_WORKER_MODEL",
    );
    expect(file()).toBe(now);
    expect((await operator.post("/manage/roles/king", { provider: "demo" })).status).toBe(404);
    await press("/manage/default-coder", { role: "coder1" });
    expect(file()).toBe(
      now.replace("coder3: { provider: demo, model: demo }\n", (line) => `${line}  default_coder: coder1\n`),
    );
  }, 300_000);

  test("a schedule is added, stopped and removed", async () => {
    const before = file();
    const schedule = {
      name: "dawn",
      cron: "0 5 * * *",
      timezone: "",
      chat: "web:operator",
      message: "Up: now",
    };
    expect(await press("/manage/schedules", { ...schedule, cron: "61 * * * *" })).toContain(
      "Example: 0 9 * * *",
    );
    expect(await press("/manage/schedules", { ...schedule, chat: "nowhere" })).toContain("Nothing was saved");
    expect(await press("/manage/schedules", { ...schedule, timezone: "Mars/Base" })).toContain(
      "is not a time zone. Example: Europe/Berlin",
    );
    expect(file()).toBe(before);
    expect(await press("/manage/schedules", schedule)).toContain("Saved");
    expect(await operator.text("/manage/settings")).toContain("Up: now");
    await press("/manage/schedules/enable", { name: "dawn", enabled: "0" });
    expect(file()).toContain(
      '  - name: dawn\n    cron: 0 5 * * *\n    chat: web:operator\n    message: "Up: now"\n    enabled: false\n',
    );
    await press("/manage/schedules/remove", { name: "dawn" });
    expect(file().trimEnd()).toBe(before.trimEnd());
    expect(await press("/manage/schedules/remove", { name: "dawn" })).toContain("There is no schedule dawn.");
  }, 300_000);

  test("a role that names a provider alone shows that provider's model, not the default of another one", async () => {
    const before = file();
    writeFileSync(
      join(server.home, "config.yaml"),
      before.replace(/ {2}chat: \{.*\}/, "  chat: { provider: far }"),
    );
    const page = await operator.text("/manage/settings");
    expect(/id="role-chat"[\s\S]*?<input name="model"[^>]*>/.exec(page)?.[0]).toEndWith(
      'value="" placeholder="far-1" maxlength="200" autocomplete="off">',
    );
    writeFileSync(join(server.home, "config.yaml"), before);
  });

  test("a model that a role may not use is refused, the file stays, and the form keeps the choice", async () => {
    const before = file();
    const answer = await operator.post("/manage/roles/chat", { provider: "far", model: "far-1" });
    const address = answer.headers.get("location") ?? "";
    expect(address).toEndWith("#role-chat");
    const page = await operator.text(address);
    const [, row = ""] = /<li id="role-chat">([\s\S]*?)<\/li>/.exec(page) ?? [];
    expect(row).toContain("Nothing was saved");
    expect(row).toContain("local model");
    expect(row).toContain('<option value="far" selected>');
    expect(row).toContain('value="far-1"');
    expect(page).not.toContain("Saved");
    expect(file()).toBe(before);
    expect(await press("/manage/local-only", { local_only: "false" })).toContain("Saved");
    expect(await press("/manage/roles/chat", { provider: "far", model: "far-1" })).toContain("Saved");
    expect(await press("/manage/local-only", { local_only: "true" })).toContain("Nothing was saved");
    expect(file()).toContain("local_only: false");
    await press("/manage/roles/chat", { provider: "demo", model: "demo" });
    expect(await press("/manage/local-only", { local_only: "true" })).toContain("Saved");
  }, 300_000);

  test("a schedule whose time cannot be read is refused beside its form, and nothing has to be typed again", async () => {
    const typed = {
      name: "dawn",
      cron: "every day at 9",
      timezone: "UTC",
      chat: "web:operator",
      message: "Up <b>",
    };
    const answer = await operator.post("/manage/schedules", typed);
    const page = await operator.text(answer.headers.get("location") ?? "");
    const [, section = ""] = /aria-labelledby="schedules">([\s\S]*?)<\/section>/.exec(page) ?? [];
    expect(section).toContain("Example: 0 9 * * * (09:00 every day)");
    for (const kept of ["dawn", "every day at 9", "UTC", "web:operator", "Up &lt;b&gt;"])
      expect(section).toContain(`value="${kept}"`);
    const long = { ...typed, cron: `${"0,".repeat(60)}0 9 * * *` };
    const refused = await operator.post("/manage/schedules", long);
    expect(await operator.text(refused.headers.get("location") ?? "")).toContain("at most 100 characters");
  }, 300_000);

  test("the folder is trusted with the file that was read, and no longer when it changed", async () => {
    const own = join(server.workspace, "picoclaw.yaml");
    const text = "worker:\n  auto_commit: true # <b>\n";
    writeFileSync(own, text);
    const command = join(server.workspace, ".picoclaw/commands/hi.md");
    mkdirSync(dirname(command), { recursive: true });
    writeFileSync(command, "Say <i>hello</i>");
    const page = await operator.text("/manage/settings");
    expect(page).toContain("auto_commit: true # &lt;b&gt;");
    expect(page).toContain("Say &lt;i&gt;hello&lt;/i&gt;");
    const seen = /name="seen" value="([^"]+)"/.exec(page)?.[1] ?? "";
    writeFileSync(own, `${text}# more\n`);
    expect(await press("/manage/trust", { seen })).toContain("Something changed after you read it");
    writeFileSync(own, text);
    writeFileSync(command, "Say something else");
    expect(await press("/manage/trust", { seen })).toContain("Something changed after you read it");
    writeFileSync(command, "Say <i>hello</i>");
    expect(await press("/manage/trust", { seen })).toContain("Saved");
    const config = JSON.parse(server.run(["config", "show", "--json"]).out) as { config?: unknown };
    expect(JSON.stringify(config)).toContain("auto_commit");
    expect(await press("/manage/distrust", { folder: server.workspace })).toContain("Saved");
    expect(await operator.text("/manage/settings")).toContain('name="seen"');
    rmSync(own);
    rmSync(dirname(dirname(command)), { recursive: true });
  }, 300_000);

  test("a file that is not YAML is left alone", async () => {
    const before = file();
    writeFileSync(join(server.home, "config.yaml"), "a: [");
    expect(await press("/manage/budget", { daily: "9", on_exceed: "local" })).toContain(
      "cannot be changed here",
    );
    expect(file()).toBe("a: [");
    writeFileSync(join(server.home, "config.yaml"), before);
    expect(existsSync(join(server.home, `config.yaml.${server.pid()}.tmp`))).toBe(false);
  }, 300_000);
});

/** One PICOCLAW_HOME, two folders, two servers: a message belongs to the folder it was sent to. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PICOCLAW = join(import.meta.dir, "../../bin/picoclaw");
const NAMES = ["first", "second"] as const;
type Name = (typeof NAMES)[number];

let folder: string;
const running = new Map<Name, { readonly child: ReturnType<typeof spawn>; readonly url: string }>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-two-"));
  for (const name of ["home", ...NAMES]) mkdirSync(join(folder, name));
  const roles = ["chat", "worker", "coder1", "coder2", "coder3"];
  const config = {
    locale: "en",
    providers: { script: { type: "scripted", script: "answers.json", local: true } },
    roles: Object.fromEntries(roles.map((role) => [role, { provider: "script" }])),
    worker: { transaction: "copy", confine: "off" },
  };
  writeFileSync(join(folder, "home", "config.yaml"), JSON.stringify(config));
  script(0);
});
afterEach(async () => {
  for (const name of NAMES) await stop(name, "SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** A coder that writes the named file, after a while. */
function script(delayMs: number): void {
  const patch = "## Plan\nwrite\n## Patch\n```txt:{{1}}.txt\n{{1}}\n```\n## Risk\nlow\n";
  const answers = [
    { when: { role: "coder3", message: "/write (\\S+)$/" }, text: patch, delay_ms: delayMs },
    { text: "re: {{message}}" },
  ];
  writeFileSync(join(folder, "home", "answers.json"), JSON.stringify({ answers }));
}

function spawn(name: Name, ...args: string[]) {
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: join(folder, "home") };
  const cwd = join(folder, name);
  return Bun.spawn([PICOCLAW, ...args], { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
}

async function run(name: Name, ...args: string[]): Promise<string> {
  const child = spawn(name, ...args);
  const out = await new Response(child.stdout).text();
  await child.exited;
  return out;
}

async function serve(name: Name): Promise<void> {
  const child = spawn(name, "serve", "--port", "0", "--json");
  let out = "";
  for await (const chunk of child.stdout) {
    out += new TextDecoder().decode(chunk);
    if (out.includes("\n")) break;
  }
  running.set(name, { child, url: (JSON.parse(out) as { url: string }).url });
}

async function stop(name: Name, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  const server = running.get(name);
  running.delete(name);
  server?.child.kill(signal);
  await server?.child.exited;
}

interface Answered {
  readonly message_id: string;
  readonly state: string;
  readonly reply: { readonly text: string } | null;
}

async function ask(name: Name, path: string, body?: object): Promise<Answered> {
  const response = await fetch(`${running.get(name)?.url}/api/v1/${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  return (await response.json()) as Answered;
}
let token = "";
const authorize = async () => {
  const made = await run("first", "serve", "token", "create", "e2e", "--scope", "read,chat,jobs", "--json");
  token = (JSON.parse(made) as { token: string }).token;
};

const written = (file: string) => NAMES.filter((name) => existsSync(join(folder, name, `${file}.txt`)));

async function until(look: () => Promise<boolean> | boolean): Promise<void> {
  for (let i = 0; i < 6_000; i++) {
    if (await look()) return;
    await Bun.sleep(20);
  }
  throw new Error("it did not come");
}

test("work that one server left undone waits for that folder, also while another serves", async () => {
  script(120_000);
  await serve("first");
  await authorize();
  const { message_id: id } = await ask("first", "messages", { text: "/code3 write mine" });
  await until(async () => (await ask("first", `messages/${id}`)).state === "working");
  await stop("first", "SIGKILL");
  script(0);
  await serve("second");
  await ask("second", "messages", { text: "/code3 write other", chat: "x", wait: 20 });
  await ask("second", "messages", { text: "/code3 write again", wait: 20 });
  expect([written("mine"), written("other"), written("again")]).toEqual([[], ["second"], ["second"]]);
  await serve("first");
  await until(async () => (await ask("first", `messages/${id}`)).state === "done");
  expect([written("mine"), written("other"), written("again")]).toEqual([["first"], ["second"], ["second"]]);
  expect(await ask("second", `messages/${id}`)).toMatchObject({ error: { code: "unknown-message" } });
}, 300_000);

test("both serve at once, in the same chat: no message crosses, and each undoes its own", async () => {
  await Promise.all(NAMES.map(serve));
  await authorize();
  await Promise.all(
    NAMES.flatMap((name) =>
      [1, 2, 3].map((n) => ask(name, "messages", { text: `/code3 write ${name}${n}`, wait: 20 })),
    ),
  );
  for (const name of NAMES)
    for (const n of [1, 2, 3]) expect([name, n, written(`${name}${n}`)]).toEqual([name, n, [name]]);
  await ask("second", "messages", { text: "/undo", wait: 20 });
  expect(
    NAMES.flatMap((name) => [1, 2, 3].filter((n) => written(`${name}${n}`).length === 0).length),
  ).toEqual([0, 1]);
}, 300_000);

test("the terminal's chat continues with the conversation of its own folder", async () => {
  await run("first", "chat", "/chat one");
  await run("second", "chat", "/chat two");
  expect(await run("first", "chat", "/why")).toContain("Message: /chat one");
  expect(await run("second", "chat", "/why")).toContain("Message: /chat two");
  await run("second", "chat", "/new");
  expect(await run("second", "chat", "/resume")).toMatch(/\d{8}-cli-default \(2 turns\)/);
  await run("first", "chat", "/new");
  expect(await run("first", "chat", "/resume")).toMatch(/\d{8}-cli-default \(2 turns\)/);
}, 300_000);

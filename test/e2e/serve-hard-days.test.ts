/** Several processes on one store, hung models, crashes and outages: every message is answered once. */
import { afterEach, describe, expect, test } from "bun:test";
import { cpSync, renameSync, rmSync } from "node:fs";
import { createServer, type Server, signIn } from "../adapters/web/web-kit.ts";
import { startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";
import { until } from "./cli-kit.ts";

const SCRIPT = [
  { when: { message: "/hang$/" }, text: "late", delay_ms: 120_000 },
  { when: { message: "/slow$/" }, text: "slow answer", delay_ms: 3_000 },
  { text: "re: {{message}}" },
];

interface Answered {
  readonly message_id: string;
  readonly state: string;
  readonly reply: { readonly text: string } | null;
}

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 300_000);

async function open(config: string): Promise<Server> {
  const server = await createServer({ script: SCRIPT, config });
  closing.push(server.close);
  return server;
}

/** One more process on the same home. */
async function join(server: Server) {
  const child = server.start(["serve", "--port", "0", "--json"]);
  let out = "";
  child.stdout?.on("data", (data) => {
    out += String(data);
  });
  child.stderr?.resume();
  await until(() => out.includes("\n"));
  closing.push(() => void child.kill("SIGKILL"));
  return { ...(JSON.parse(out) as { url: string; login: string }), kill: () => child.kill("SIGKILL") };
}

function person(server: Server, user: string) {
  const token = server.token("--user", user, "--role", "user", "--scope", "read,chat");
  const call = (url: string, path: string, body?: object) =>
    fetch(`${url}/api/v1/${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const ask = async (url: string, path: string, body?: object) => {
    const response = await call(url, path, body);
    const answer = (await response.json()) as Answered;
    // A store that is away is answered with an error, and asked again.
    if (!response.ok && body !== undefined) throw new Error(JSON.stringify(answer));
    return answer;
  };
  const state = (id: string, url = server.url) => ask(url, `messages/${id}`);
  const reach = async (id: string, wanted: string, url = server.url) => {
    for (;;) {
      const message = await state(id, url);
      if (message.state === wanted) return message;
      await Bun.sleep(30);
    }
  };
  return {
    state,
    reach,
    call: (path: string, body?: object) => call(server.url, path, body),
    say: async (chat: string, text: string, url = server.url) =>
      (await ask(url, "messages", { chat, text })).message_id,
    stop: (id: string, url: string) => ask(url, `messages/${id}/stop`, {}),
    answer: async (id: string, url = server.url) => (await reach(id, "done", url)).reply?.text ?? "",
  };
}

describe("one process", () => {
  test("a sender that hangs in every lane blocks neither others nor their own commands, and /stop ends the running work", async () => {
    const server = await open("serve: { max_chats: 4 }\n");
    const [alice, bob] = [person(server, "alice"), person(server, "bob")];
    const hung: string[] = [];
    for (const n of [1, 2, 3, 4, 5]) hung.push(await alice.say(`c${n}`, "hang"));
    await alice.reach(hung[0] as string, "working");
    expect(await bob.answer(await bob.say("b", "hello"))).toContain("re: hello");
    expect(await alice.answer(await alice.say("c6", "/jobs"))).not.toBe("");
    // A command that only looks does not even wait for its own chat, and /usage is of all chats of its person.
    for (const look of ["/help", "/jobs", "/diff", "/why", "/rules"])
      expect(await alice.answer(await alice.say("c1", look))).not.toBe("");
    expect(await bob.answer(await bob.say("elsewhere", "/usage"))).toContain("Your chats today");
    const behind = await alice.say("c1", "hello again");
    expect(await alice.answer(await alice.say("c1", "/stop"))).not.toBe("");
    expect(await alice.answer(hung[0] as string)).not.toContain("late");
    // The lane that came free went to the chat that waited longest for one, and the rest of this chat follows.
    await alice.reach(hung[3] as string, "working");
    await alice.answer(await alice.say("c2", "/stop"));
    await alice.answer(await alice.say("c3", "/stop"));
    expect(await alice.answer(behind)).toContain("re: hello again");
  }, 300_000);
});

describe("two processes", () => {
  test("/stop and the console's button reach the message in any process, and the work of a dead process is resumed within seconds", async () => {
    const server = await open("");
    const alice = person(server, "alice");
    const [pressed, asked, hung] = [
      await alice.say("c0", "hang"),
      await alice.say("c2", "hang"),
      await alice.say("c1", "hang"),
    ];
    for (const id of [pressed, asked, hung]) await alice.reach(id, "working");
    const other = await join(server);
    const browser = await signIn(other.login);
    const stream = (await browser.get("/live?chat=web%3Aalice.c0")).body!.getReader();
    await browser.post("/chat/alice.c0/stop", { message: pressed });
    expect(await alice.answer(pressed, other.url)).not.toContain("late");
    // The page of a process that had no part in it hears of the answer.
    let heard = "";
    while (!heard.includes("event: changed"))
      heard += new TextDecoder().decode((await stream.read()).value as Uint8Array);
    await stream.cancel();
    await alice.stop(asked, other.url);
    expect(await alice.answer(asked)).not.toContain("late");
    await expect(alice.stop(asked, other.url)).rejects.toThrow("not-running");
    expect((await alice.state(hung)).state).toBe("working");
    expect(await alice.answer(await alice.say("c1", "/stop", other.url), other.url)).not.toBe("");
    await alice.answer(hung, other.url);
    const slow = await alice.say("c2", "slow");
    await alice.reach(slow, "working");
    const began = performance.now();
    await server.stop("SIGKILL");
    other.kill();
    const next = await join(server);
    expect(await alice.answer(slow, next.url)).toContain("slow answer");
    expect(performance.now() - began).toBeLessThan(200_000);
  }, 300_000);
});

describe.if(requirePart("postgres"))("Postgres", () => {
  test("an outage during an answer loses neither the answer nor the chat, and /stop crosses processes", async () => {
    const postgres = startPostgres();
    closing.push(postgres.stop);
    const server = await open(`database_url: "${postgres.newDatabase()}"\n`);
    const other = await join(server);
    const alice = person(server, "alice");
    for (const path of ["messages/%00", "sessions/web/%00", "messages/%00/stop"])
      expect([path, (await alice.call(path)).status]).toEqual([path, 404]);
    const slow = await alice.say("c1", "slow");
    await alice.reach(slow, "working");
    postgres.crash();
    const refused = await alice.call("messages", { chat: "c1", text: "too early" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({ error: { code: "store-away" } });
    await Bun.sleep(3_000);
    postgres.comeBack();
    expect(await alice.answer(slow)).toContain("slow answer");
    expect(await alice.answer(await alice.say("c1", "hello"))).toContain("re: hello");
    // One line tells of it, and no stack does.
    expect(server.errors().match(/^.*cannot be reached.*$/gm)).toHaveLength(1);
    expect(server.errors()).not.toMatch(/^\s+at /m);
    const hung = await alice.say("c2", "hang", other.url);
    await alice.reach(hung, "working");
    expect(await alice.answer(await alice.say("c2", "/stop"))).not.toBe("");
    await alice.answer(hung);
  }, 300_000);
});

test("a server that was killed starts again at once in a copy of its home, as in a new container", async () => {
  const server = await open("");
  await server.stop("SIGKILL");
  cpSync(server.home, `${server.home}.copy`, { recursive: true });
  rmSync(server.home, { recursive: true });
  renameSync(`${server.home}.copy`, server.home);
  const { url } = await server.restart();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

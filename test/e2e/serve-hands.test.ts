/** Processes that answer the messages of a server, and what happens to it and to them when they stop, spin, grow or die. */
import { afterEach, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, lives, type Server } from "../adapters/web/web-kit.ts";
import { until } from "./cli-kit.ts";

const SCRIPT = [
  { when: { message: "/hang$/" }, text: "late", delay_ms: 120_000 },
  { when: { message: "/slow \\d+$/" }, text: "re: {{message}}", delay_ms: 1_500 },
  // The engine gives up each after seconds; all of them take minutes.
  ...Array.from({ length: 60 }, () => ({ when: { message: "/^(a+)+$/" }, text: "never" })),
  { text: "re: {{message}}" },
];

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 300_000);

async function open(more = "") {
  const server = await createServer({ script: SCRIPT, config: `serve: { rate_limit: 0${more} }\n` });
  closing.push(server.close);
  const token = server.token("--scope", "read,chat,jobs");
  const headers = { authorization: `Bearer ${token}` };
  const get = async (path: string) => (await fetch(`${server.url}/api/v1/${path}`, { headers })).json();
  const say = async (chat: string, text: string) => {
    const body = JSON.stringify({ chat, text });
    const answered = await fetch(`${server.url}/api/v1/messages`, { method: "POST", headers, body });
    expect(answered.status).toBeLessThan(300);
    return ((await answered.json()) as { message_id: string }).message_id;
  };
  const read = (id: string) => get(`messages/${id}`) as Promise<{ state: string; reply: { text: string } }>;
  const reach = async (id: string, state: string) => {
    for (;;) {
      const message = await read(id);
      if (message.state === state) return message;
      await Bun.sleep(50);
    }
  };
  const answer = async (id: string) => (await reach(id, "done")).reply.text;
  return { server, say, read, reach, answer, token };
}

/** The processes that a server has started and that answer messages. */
function handsOf(pid: number): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((one) => {
      try {
        const stat = readFileSync(`/proc/${one}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        return parent === pid && readFileSync(`/proc/${one}/cmdline`, "utf8").includes("--hand");
      } catch {
        return false;
      }
    });
}

function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** What a person's browser asks meanwhile: the processor time of each in the front, in milliseconds. */
async function costOfPages(server: Server, token: string): Promise<readonly number[]> {
  const costs: number[] = [];
  const headers = { authorization: `Bearer ${token}` };
  for (const path of ["/healthz", "/api/v1/messages", "/api/v1/jobs"]) {
    const before = cpuOf(server.pid());
    const answered = await fetch(`${server.url}${path}`, { headers, signal: AbortSignal.timeout(10_000) });
    await answered.arrayBuffer();
    costs.push(cpuOf(server.pid()) - before);
  }
  return costs;
}

test("a hand that is stopped anywhere in a message keeps nobody waiting, and the message is answered once by another", async () => {
  const { server, say, answer, token } = await open();
  await answer(await say("warm", "hello"));
  const stopped: number[] = [];
  const ids: string[] = [];
  // Two stops at different times of messages under way; each costs its own messages a retry.
  for (const waitMs of [3, 25]) {
    const asked = Array.from({ length: 6 }, (_, n) => say(`c${waitMs}n${n}`, `hello ${waitMs} ${n}`));
    await Bun.sleep(waitMs);
    const [hand] = await until(() => {
      const found = handsOf(server.pid()).filter((pid) => !stopped.includes(pid));
      return found.length > 0 && found;
    });
    process.kill(hand as number, "SIGSTOP");
    stopped.push(hand as number);
    // An acknowledgement writes, so it would wait for a lock that the stopped process held.
    ids.push(...(await Promise.all(asked)));
    for (const cost of await costOfPages(server, token)) expect(cost).toBeLessThanOrEqual(100);
  }
  for (const [at, id] of ids.entries())
    expect(await answer(id)).toContain(`re: hello ${at < 6 ? 3 : 25} ${at % 6}`);
  await until(() => stopped.every((pid) => !lives(pid)));
}, 300_000);

test("a message that computes without an end is given up after three deaths, and others are answered meanwhile", async () => {
  const { server, say, answer, reach, token } = await open();
  const endless = await say("endless", `${"a".repeat(60)}!`);
  await reach(endless, "working");
  expect(await answer(await say("other", "hello"))).toContain("re: hello");
  for (const cost of await costOfPages(server, token)) expect(cost).toBeLessThanOrEqual(100);
  expect(await answer(endless)).toContain("ended 3 times");
  // On a busy machine fifteen seconds pass before ten of them were computed; what is said arrives after what is answered.
  const deaths = () => server.errors().match(/answers messages \(pid \d+\)/g)?.length ?? 0;
  await until(() => deaths() >= 3);
  expect(deaths()).toBe(3);
}, 300_000);

test("a hand beyond serve.hand_memory is ended, and that is said", async () => {
  const { server, say } = await open(", hand_memory: 20000000");
  await say("c", "hello");
  await until(() => server.errors().includes("more memory than serve.hand_memory"));
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
}, 300_000);

test("a front that is killed leaves no process behind, and the next one answers what was under way", async () => {
  const { server, say, reach } = await open();
  const id = await say("c", "slow 1");
  await reach(id, "working");
  const hands = handsOf(server.pid());
  expect(hands.length).toBeGreaterThan(0);
  await server.stop("SIGKILL");
  await until(() => hands.every((pid) => !lives(pid)));
  const { url } = await server.restart();
  const headers = { authorization: `Bearer ${server.token("--scope", "read,chat")}` };
  const state = async () =>
    (await (await fetch(`${url}/api/v1/messages/${id}`, { headers })).json()) as {
      state: string;
      reply: { text: string };
    };
  while ((await state()).state !== "done") await Bun.sleep(50);
  expect((await state()).reply.text).toContain("re: slow 1");
}, 300_000);

test("a hand that is killed again and again costs its messages a retry, and none is answered twice or lost", async () => {
  const { server, say, answer } = await open();
  const ids = await Promise.all(Array.from({ length: 8 }, (_, n) => say(`c${n}`, `slow ${n}`)));
  for (let killed = 0; killed < 2; killed += 1) {
    const [hand] = await until(() => {
      const found = handsOf(server.pid());
      return found.length > 0 && found;
    });
    await Bun.sleep(400);
    process.kill(hand as number, "SIGKILL");
    await until(() => !lives(hand as number));
  }
  for (const [n, id] of ids.entries()) expect(await answer(id)).toContain(`re: slow ${n}`);
}, 300_000);

test("SIGTERM with fifty messages at work loses none, and leaves no process", async () => {
  const { server, say, reach } = await open();
  const ids = await Promise.all(Array.from({ length: 50 }, (_, n) => say(`c${n}`, `slow ${n}`)));
  await reach(ids[0] as string, "working");
  const hands = handsOf(server.pid());
  await server.stop("SIGTERM");
  expect(hands.filter(lives)).toEqual([]);
  const { url } = await server.restart();
  const headers = { authorization: `Bearer ${server.token("--scope", "read,chat")}` };
  for (const [n, id] of ids.entries()) {
    const read = async () =>
      (await (await fetch(`${url}/api/v1/messages/${id}`, { headers })).json()) as {
        state: string;
        reply: { text: string };
      };
    while ((await read()).state !== "done") await Bun.sleep(50);
    expect((await read()).reply.text).toContain(`re: slow ${n}`);
  }
}, 300_000);

/** Two machines on one store: the console of one shows, diffs, takes back and stops jobs of the other. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createServer, type Server, signIn } from "../adapters/web/web-kit.ts";
import { proposal } from "../application/chat/chat-kit.ts";
import { type PostgresServer, startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";
import { create, jobIdIn, shell } from "./cli-kit.ts";

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
}, 300_000);

async function open(url: string): Promise<Server> {
  const script = [{ text: proposal("a note", JSON.stringify([create("note.txt", "from a chat\n")])) }];
  const server = await createServer({ config: `database_url: "${url}"\n`, script });
  closing.push(server.close);
  return server;
}

/** A program's way to a machine. */
function apiOf(server: Server, ...args: string[]) {
  const token = server.token("--scope", "read,jobs,chat", ...args);
  const { url } = server;
  return async (path: string, body?: unknown) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, never> };
  };
}

/** The answer to a person's message on a machine. */
function chatOf(server: Server, user: string) {
  const api = apiOf(server, "--user", user);
  return async (text: string) => {
    const { body: sent } = await api("/messages", { text });
    const id = (sent as unknown as { message_id: string }).message_id;
    return eventually(async () => {
      const { reply } = (await api(`/messages/${id}`)).body as unknown as { reply: { text: string } | null };
      return reply?.text ?? null;
    });
  };
}

/** Asks until it is so. */
async function eventually<T>(ask: () => Promise<T | null>): Promise<T> {
  for (const end = performance.now() + 120_000; performance.now() < end; ) {
    const found = await ask();
    if (found !== null) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("it never came");
}

describe.if(requirePart("postgres"))("two machines", () => {
  let postgres: PostgresServer;
  beforeAll(() => {
    postgres = startPostgres();
  }, 300_000);
  afterAll(() => postgres.stop());

  test("one console shows, diffs, undoes and stops the jobs of another machine; an absent machine is reported, and does nothing later", async () => {
    const url = postgres.newDatabase();
    const [near, far] = [await open(url), await open(url)];
    const [nearApi, farApi] = [apiOf(near), apiOf(far)];
    const browser = await signIn(near.login);
    // On a crowded machine an order may come too late; it was not carried out then, and is given again.
    const order = (path: string, body: object | null = {}) =>
      eventually(async () => {
        const given = await nearApi(path, body ?? undefined);
        return given.status === 503 ? null : given;
      });
    const file = join(far.workspace, "far.txt");
    const made = await farApi("/jobs", { patch: JSON.stringify([create("far.txt", "from afar\n")]) });
    expect(made.status).toBe(200);
    const jobId = jobIdIn(JSON.stringify(made.body));
    const listed = await eventually(async () => {
      const { jobs } = (await nearApi("/jobs")).body as unknown as { jobs: { job_id: string }[] };
      return jobs.find(({ job_id }) => job_id === jobId) ?? null;
    });
    expect(listed).toMatchObject({ machine: { here: true }, state: "committed" });
    expect(await browser.text("/jobs")).toContain(`/jobs/${jobId}`);
    const page = await eventually(async () => {
      const text = await browser.text(`/jobs/${jobId}`);
      return text.includes("from afar") ? text : null;
    });
    expect(page).toContain("<dt>Machine</dt>");

    const undone = await order(`/jobs/${jobId}/undo`);
    expect(undone.status).toBe(200);
    // The terminal of this machine does not know the job.
    expect(JSON.stringify(undone.body)).toMatch(/picoclaw redo \d+ \(on .+\)/);
    expect(existsSync(file)).toBe(false);
    // The machine that sent the order sees the outcome at once.
    expect((await nearApi(`/jobs/${jobId}`)).body).toMatchObject({ state: "undone" });
    expect((await order(`/jobs/${jobId}/redo`)).status).toBe(200);
    expect(existsSync(file)).toBe(true);
    expect((await order(`/jobs/${jobId}/diff`, null)).body).toMatchObject({
      diff: expect.stringContaining("+from afar") as unknown as string,
    });

    // From a chat: one's own jobs, with the same rights as at home.
    const [farChat, nearChat, other] = [chatOf(far, "alice"), chatOf(near, "alice"), chatOf(near, "bob")];
    const note = join(far.workspace, "note.txt");
    // Where there are several machines, a chat names a job by its id: the number is that of its machine.
    const hers = jobIdIn(await farChat("/code3 write a note"));
    expect(hers).toStartWith("job_");
    expect(existsSync(note)).toBe(true);
    const say = (text: string) =>
      eventually(async () => {
        const said = await nearChat(text);
        return said.includes("is away") || said.includes("No such job") ? null : said;
      });
    expect(await say(`/diff ${hers}`)).toContain("+from a chat");
    expect(await say(`/undo ${hers}`)).toContain(`/redo ${hers}`);
    expect(existsSync(note)).toBe(false);
    expect(await other(`/redo ${hers}`)).toContain("No such job");
    expect(await nearChat(`/undo ${jobId}`)).toContain("No such job");
    expect(await say(`/redo ${hers}`)).toContain("Applied");
    expect(existsSync(note)).toBe(true);

    const running = farApi("/jobs", { patch: JSON.stringify([shell("echo $((40 + 2)) lines; sleep 300")]) });
    const longId = await eventually(async () => {
      const { jobs } = (await nearApi("/jobs")).body as unknown as {
        jobs: { job_id: string; alive: boolean }[];
      };
      return jobs.find(({ alive }) => alive)?.job_id ?? null;
    });
    await eventually(async () =>
      (await browser.text(`/jobs/${longId}`)).includes("42 lines") ? true : null,
    );
    expect((await order(`/jobs/${longId}/stop`)).status).toBe(200);
    expect((await running).body).toMatchObject({ outcome: "aborted" });

    await far.stop("SIGKILL");
    const refused = await nearApi(`/jobs/${jobId}/undo`, {});
    expect(refused).toMatchObject({ status: 503, body: { error: { code: "machine-away" } } });
    expect(await nearChat(`/undo ${hers}`)).toContain("is away");
    await far.restart();
    // Orders about one job are taken in their order: the one that came too late was passed over before this one.
    expect((await order(`/jobs/${jobId}/redo`)).status).toBe(409);
    expect(existsSync(file)).toBe(true);
  }, 300_000);
});

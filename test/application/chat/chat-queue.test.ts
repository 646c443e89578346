import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  type ChatQueue,
  type ChatQueueDeps,
  createChatQueue,
} from "../../../src/application/chat/chat-queue.ts";
import type { ChatTurns } from "../../../src/application/ports/chat.ts";
import { createChatTurns } from "../../../src/infrastructure/serve/chat-turns.ts";
import { type Bench, openBench } from "./memory-kit.ts";

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.remove());

const nobodyGone = () => false;
const newId = () => `work ${++names}`;
const openTurns = (isGone: (process: string) => boolean = nobodyGone): ChatTurns =>
  createChatTurns({ db: bench.db, workspace: "/ws", process: `process ${++names}`, isGone, newId });

let names = 0;
function openQueue(more: Partial<ChatQueueDeps> = {}): ChatQueue {
  return createChatQueue({
    turns: openTurns(),
    now: () => new Date(),
    lookMs: 10,
    pollMs: 5,
    setTimer,
    retry: setTimer,
    ...more,
  });
}

function setTimer(run: () => void, ms: number): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}

/** Work that ends when the test says so. */
function gate() {
  const begun = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<void>();
  const work = async (signal: AbortSignal) => {
    begun.resolve(signal);
    await Promise.race([
      end.promise,
      new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true })),
    ]);
    return signal.aborted ? "aborted" : "done";
  };
  return { work, begun: begun.promise, end: () => end.resolve() };
}

const { signal } = new AbortController();

describe("one chat", () => {
  test("is answered in order, one at a time, with the number of messages ahead", async () => {
    const queue = openQueue();
    const order: string[] = [];
    const told: number[][] = [[], [], []];
    let running = 0;
    const all = [0, 1, 2].map((n) =>
      queue.run(
        "c",
        async () => {
          running += 1;
          order.push(`begin ${n}, ${running} running`);
          await new Promise((resolve) => setTimeout(resolve, 5));
          running -= 1;
          return n;
        },
        { signal, onQueued: (ahead) => told[n]!.push(ahead) },
      ),
    );
    expect(await Promise.all(all)).toEqual([0, 1, 2].map((value) => ({ ran: true, value, stopped: null })));
    expect(order).toEqual(["begin 0, 1 running", "begin 1, 1 running", "begin 2, 1 running"]);
    expect(told).toEqual([[], [1], [2, 1]]);
  });

  test("continues after work that throws", async () => {
    const queue = openQueue();
    const broken = queue.run("c", () => Promise.reject(new Error("broken")), { signal });
    const next = queue.run("c", async () => "fine", { signal });
    await expect(broken).rejects.toThrow("broken");
    expect(await next).toMatchObject({ value: "fine" });
  });

  test("does not hold up another", async () => {
    const queue = openQueue();
    const slow = gate();
    const first = queue.run("c", slow.work, { signal });
    await slow.begun;
    expect(await queue.run("d", async () => "quick", { signal })).toMatchObject({ value: "quick" });
    slow.end();
    expect(await first).toMatchObject({ value: "done" });
  });

  test("a message whose sender gave up while waiting never runs and blocks no other", async () => {
    const queue = openQueue();
    const slow = gate();
    const first = queue.run("c", slow.work, { signal });
    await slow.begun;
    const impatient = new AbortController();
    const ran: string[] = [];
    const second = queue.run("c", async () => void ran.push("second"), { signal: impatient.signal });
    const third = queue.run("c", async () => "third", { signal });
    impatient.abort();
    expect(await second).toEqual({ ran: false });
    slow.end();
    await first;
    expect(await third).toMatchObject({ value: "third" });
    expect(ran).toEqual([]);
    expect(await queue.run("c", async () => 1, { signal: impatient.signal })).toEqual({ ran: false });
  });
});

describe("/stop", () => {
  test("aborts what runs and not what waits", async () => {
    const queue = openQueue();
    expect(await queue.stop("c")).toBe(false);
    const slow = gate();
    const first = queue.run("c", slow.work, { signal });
    await slow.begun;
    const second = queue.run("c", async (own) => own.aborted, { signal });
    expect(await queue.stop("c")).toBe(true);
    expect(await first).toEqual({ ran: true, value: "aborted", stopped: "stopped" });
    expect(await second).toEqual({ ran: true, value: false, stopped: null });
    expect(await queue.stop("c")).toBe(false);
  });

  test("reaches what runs in another process", async () => {
    const here = openQueue();
    const there = openQueue();
    const slow = gate();
    const first = there.run("c", slow.work, { signal });
    await slow.begun;
    expect(await here.stop("c")).toBe(true);
    expect(await first).toEqual({ ran: true, value: "aborted", stopped: "stopped" });
  });

  test("the caller's own signal ends the work as well", async () => {
    const queue = openQueue();
    const own = new AbortController();
    const slow = gate();
    const first = queue.run("c", slow.work, { signal: own.signal });
    await slow.begun;
    own.abort();
    expect(await first).toEqual({ ran: true, value: "aborted", stopped: "caller" });
  });
});

describe("two processes", () => {
  test("take turns in one chat", async () => {
    const [here, there] = [openQueue(), openQueue()];
    const slow = gate();
    const first = there.run("c", slow.work, { signal });
    await slow.begun;
    const waited = Promise.withResolvers<number>();
    const second = here.run("c", async () => "after", { signal, onQueued: waited.resolve });
    expect(await waited.promise).toBe(1);
    slow.end();
    expect(await first).toMatchObject({ value: "done" });
    expect(await second).toMatchObject({ value: "after" });
  });

  test("a process that is silent for fifteen seconds is waited for no longer; one that beats is", async () => {
    const slow = gate();
    const first = openQueue().run("c", slow.work, { signal });
    await slow.begun;
    const silence = () =>
      bench.db
        .updateTable("work_claims")
        .set({ claimed_at: Date.now() - 16_000 })
        .execute();
    const { owner } = await bench.db.selectFrom("work_claims").select("owner").executeTakeFirstOrThrow();
    await bench.db
      .insertInto("work_owners")
      .values({ owner: owner ?? "", beat_at: Date.now() })
      .execute();
    await silence();
    const waited = Promise.withResolvers<number>();
    const second = openQueue().run("c", async () => "after", { signal, onQueued: waited.resolve });
    expect(await waited.promise).toBe(1);
    await bench.db.deleteFrom("work_owners").execute();
    expect(await second).toMatchObject({ value: "after" });
    expect(await first).toEqual({ ran: true, value: "aborted", stopped: "lost" });
  });

  test("a turn that a failing store did not release is released later", async () => {
    const turns = openTurns();
    const failing = { left: 3 };
    const queue = openQueue({
      turns: {
        ...turns,
        async end(claim) {
          if (failing.left-- > 0) throw new Error("the store is away");
          await turns.end(claim);
        },
      },
    });
    expect(await queue.run("c", async () => "first", { signal })).toMatchObject({ value: "first" });
    expect(await openQueue().run("c", async () => "next", { signal })).toMatchObject({ value: "next" });
    expect(failing.left).toBe(-1);
  });

  test("work whose turn was lost is ended", async () => {
    const queue = openQueue();
    const slow = gate();
    const first = queue.run("c", slow.work, { signal });
    await slow.begun;
    await bench.db.deleteFrom("work_claims").execute();
    expect(await first).toEqual({ ran: true, value: "aborted", stopped: "lost" });
  });

  test("a process that is killed is waited for no longer", async () => {
    const child = Bun.spawn(
      [process.execPath, "--no-env-file", join(import.meta.dir, "queue-child.ts"), bench.file, "hold"],
      { stdout: "pipe", stderr: "inherit" },
    );
    await firstLine(child.stdout);
    const { createOwnerNames } = await import("../../../src/infrastructure/platform/process-table.ts");
    const owners = createOwnerNames(process.pid);
    const queue = openQueue({ turns: openTurns(owners.isGone) });
    const waited = Promise.withResolvers<number>();
    const mine = queue.run("c", async () => "mine", { signal, onQueued: waited.resolve });
    await waited.promise;
    child.kill("SIGKILL");
    await child.exited;
    expect(await mine).toMatchObject({ value: "mine" });
  });

  test("eight at once never work on one chat at the same time", async () => {
    const children = Array.from({ length: 8 }, () =>
      Bun.spawn(
        [process.execPath, "--no-env-file", join(import.meta.dir, "queue-child.ts"), bench.file, "count"],
        {
          stdout: "pipe",
          stderr: "inherit",
        },
      ),
    );
    const outputs = await Promise.all(children.map((child) => new Response(child.stdout).text()));
    const intervals = outputs
      .flatMap((text) => text.trim().split("\n"))
      .map((line) => line.split(" ").map(Number) as [number, number])
      .sort(([a], [b]) => a - b);
    expect(intervals).toHaveLength(8 * 5);
    for (const [index, [begin]] of intervals.entries())
      if (index > 0) expect(begin).toBeGreaterThanOrEqual(intervals[index - 1]![1]);
  });
});

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  return new TextDecoder().decode(value);
}

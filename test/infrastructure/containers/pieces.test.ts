import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ContainerSpec, StartedContainer } from "../../../src/application/ports/containers.ts";
import {
  createFrameReader,
  createStreamReader,
  decodeList,
  encodeFrame,
  encodeList,
} from "../../../src/infrastructure/containers/container-frames.ts";
import {
  createLeases,
  createOwners,
  type Lease,
  readInstallationId,
} from "../../../src/infrastructure/containers/container-owners.ts";
import { isStale } from "../../../src/infrastructure/containers/container-removal.ts";
import type { ListedContainer } from "../../../src/infrastructure/containers/container-state.ts";
import { type Engine, failureFromStatus } from "../../../src/infrastructure/containers/docker-engine.ts";
import { createWarmPool } from "../../../src/infrastructure/containers/docker-sandbox.ts";
import { openInsideProgram } from "../../../src/infrastructure/containers/inside-program.ts";
import { readEnding } from "../../../src/infrastructure/containers/supervisor.ts";

const LIMITS = { cpus: 1, memoryBytes: 1, pids: 2, diskBytes: 3 };
const HOUR = 3_600_000;

describe("a program that the runtime does not start", () => {
  test.each([
    ["unable to start container process: read init-p: connection reset by peer: unknown", "no-resources"],
    [
      "unable to start container process: error starting setns process: fork/exec /proc/self/fd/6: resource temporarily unavailable",
      "no-resources",
    ],
    [
      'unable to start container process: exec: "perl": executable file not found in $PATH: unknown',
      "disconnected",
    ],
  ])("%s: %s", async (why, code) => {
    const said = `OCI runtime exec failed: exec failed: ${why}\r\n`;
    const head = Buffer.from([1, 0, 0, 0, 0, 0, 0, said.length]);
    const engine = {
      call: async () => ({ ok: true, value: { Id: "e" } }),
      attach: async (_: string, { onBytes, onClose }: Parameters<Engine["attach"]>[1]) => {
        setTimeout(() => {
          onBytes(Buffer.concat([head, Buffer.from(said)]));
          onClose(undefined);
        }, 0);
        return { write: () => undefined, close: () => undefined };
      },
    } as unknown as Engine;
    const none = () => undefined;
    const given = { container: "c", program: "1", longestFrame: 100, onFrame: none, onEnd: none };
    expect(await openInsideProgram({ engine, ...given, signal: new AbortController().signal })).toMatchObject(
      { code },
    );
  });
});

describe("frames of a stream", () => {
  test("come out whole, however the bytes are cut", () => {
    const frame = (stream: number, text: string) => {
      const head = Buffer.alloc(8);
      head[0] = stream;
      head.writeUInt32BE(Buffer.byteLength(text), 4);
      return Buffer.concat([head, Buffer.from(text)]);
    };
    const all = Buffer.concat([frame(1, "日本"), frame(2, ""), frame(2, "err"), frame(1, "x".repeat(5000))]);
    for (const size of [1, 2, 3, 7, 9, 4096, all.length]) {
      const seen: string[] = [];
      const read = createStreamReader((stream, bytes) => seen.push(`${stream}:${bytes}`));
      for (let at = 0; at < all.length; at += size) read(all.subarray(at, at + size));
      expect(seen).toEqual(["stdout:日本", "stderr:", "stderr:err", `stdout:${"x".repeat(5000)}`]);
    }
  });

  test("the rest of an unfinished frame survives the runtime's use of its buffer", () => {
    const seen: string[] = [];
    const read = createFrameReader(
      100,
      ({ type, id, payload }) => seen.push(`${type}${id}:${payload}`),
      () => undefined,
    );
    const [first, second] = [encodeFrame("d", 7, Buffer.from("hello")), encodeFrame("c", 8, Buffer.alloc(0))];
    const chunk = Buffer.from(first.subarray(0, 11));
    read(chunk);
    chunk.fill(0);
    read(Buffer.concat([first.subarray(11), second]));
    expect(seen).toEqual(["d7:hello", "c8:"]);
  });
});

describe("frames of a program that was taken over", () => {
  test("a length beyond all measure is not waited for, and nothing after it is believed", () => {
    const seen: string[] = [];
    const read = createFrameReader(
      1024,
      ({ type }) => seen.push(type),
      () => seen.push("broken"),
    );
    read(encodeFrame("P", 1, new Uint8Array(3)));
    read(Buffer.from([0x7f, 0, 0, 0, 120, 0, 0, 0, 1]));
    read(encodeFrame("P", 1, new Uint8Array(3)));
    expect(seen).toEqual(["P", "broken"]);
  });

  test("a truncated list counts as none", () => {
    const list = encodeList(["a", Buffer.from([0, 255]), ""]);
    expect(decodeList(list).map((item) => item.toString("hex"))).toEqual(["61", "00ff", ""]);
    for (const cut of [1, 4, 6]) expect(() => decodeList(list.subarray(0, cut))).toThrow(RangeError);
  });
});

describe("what the engine says", () => {
  test.each([
    [404, "No such image: x", "/containers/create", "image-missing"],
    [404, "No such container: x", "/containers/x/json", "container-missing"],
    [409, 'Conflict. The container name "/x" is already in use', "/containers/create", "name-taken"],
    [409, "Container x is not running", "/containers/x/exec", "container-stopped"],
    [400, "bad parameter", "/containers/create", "bad-spec"],
    [500, "fork: Resource temporarily unavailable", "/containers/x/start", "no-resources"],
    [500, "something else", "/containers/x/start", "engine-error"],
  ])("%i %s", (status, message, path, code) => {
    expect(failureFromStatus(status, message, path).code as string).toBe(code);
  });
});

describe("how a command ended", () => {
  const ending = (
    { kind = 0, status = 0, oomKills = 0, refusedForks = 0 }: Readonly<Record<string, number>>,
    stderr = "",
  ) => {
    const payload = Buffer.alloc(20);
    for (const [at, value] of [kind, status, 0, oomKills, refusedForks].entries())
      payload.writeInt32BE(value, at * 4);
    return readEnding(payload, { cwd: "/w", program: "p", stderr }, LIMITS);
  };
  test("a success is never blamed on a limit that others ran into", () => {
    expect(ending({ oomKills: 3, refusedForks: 3 }).limit).toBeUndefined();
  });
  test("signals are reported by name", () => {
    expect(ending({ status: 11 })).toMatchObject({ outcome: "signaled", signal: "SIGSEGV", exitCode: 139 });
  });
  test("a full disk is known by the signal or by the words of the program", () => {
    expect(ending({ status: 25 }).limit?.kind).toBe("disk");
    expect(ending({ status: 256 }, "write: No space left on device").limit?.kind).toBe("disk");
  });
  test("a line that no supervisor writes is not an ending", () => {
    expect(() => ending({ kind: 9 })).toThrow(RangeError);
    expect(() => readEnding(Buffer.alloc(3), { cwd: "", program: "", stderr: "" }, LIMITS)).toThrow(
      RangeError,
    );
  });
  test("a guard that was killed is a lost command, not an ended one", () => {
    expect(ending({ kind: 5, status: 0 })).toMatchObject({ outcome: "disconnected", exitCode: null });
  });
});

describe("owners", () => {
  test("one is alive while it holds its lock, for every caller", () => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-owners-"));
    let count = 0;
    const make = () => createOwners({ folder, newId: () => `id-${++count}` });
    const [one, two] = [make(), make()];
    const id = one.own();
    expect([one.own(), two.isAlive(id), one.isAlive(id)]).toEqual([id, true, true]);
    expect([one.hasOthers(), two.hasOthers()]).toEqual([false, true]);
    two.sweep();
    expect(two.isAlive(id)).toBe(true);
    one.close();
    expect(two.isAlive(id)).toBe(false);
    expect(two.isAlive("../../etc/passwd")).toBe(false);
    two.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("an installation has one id, also when two make it at once", () => {
    const home = mkdtempSync(join(tmpdir(), "picoclaw-home-"));
    const first = readInstallationId(home, () => "a");
    expect([first, readInstallationId(home, () => "b")]).toEqual(["a", "a"]);
    rmSync(home, { recursive: true, force: true });
  });
});

describe("stale containers", () => {
  const now = 1_000 * HOUR;
  const container = (
    labels: Record<string, string>,
    ageHours: number,
    name = "coding-agent-exec-t",
  ): ListedContainer => ({
    Id: "i",
    Names: [`/${name}`],
    Image: "x",
    Created: (now - ageHours * HOUR) / 1000,
    State: "running",
    Labels: { "picoclaw.owner": "o", "picoclaw.task": "t", "picoclaw.role": "task", ...labels },
  });
  const lease = (over: Partial<Lease>, usedHoursAgo = 0) => ({
    container: "i",
    name: "n",
    taskId: "t",
    lease: "process" as const,
    owner: "o",
    state: "ready" as const,
    usedAtMs: now - usedHoursAgo * HOUR,
    ...over,
  });
  const process = { "picoclaw.lease": "process" };
  const detached = { "picoclaw.lease": "detached" };
  type Case = readonly [string, ListedContainer, ReturnType<typeof lease> | undefined, boolean, boolean];
  const cases: readonly Case[] = [
    ["a live owner's, however old", container(process, 999), undefined, true, false],
    ["a dead owner's, however new", container(process, 0), undefined, false, true],
    ["a detached one of today, its owner gone", container(detached, 5), undefined, false, false],
    ["a detached one of last week", container(detached, 200), undefined, false, true],
    [
      "a detached one of last week, used today",
      container(detached, 200),
      lease({ lease: "detached" }, 1),
      false,
      false,
    ],
    [
      "a detached one whose making was cut short",
      container(detached, 1),
      lease({ lease: "detached", state: "preparing" }),
      false,
      true,
    ],
    [
      "one that could not be removed, its owner alive",
      container(process, 0),
      lease({ state: "ended" }),
      true,
      true,
    ],
    [
      "an unclaimed warm one of a live owner",
      container({ ...process, "picoclaw.role": "warm" }, 99),
      undefined,
      true,
      false,
    ],
    [
      "an unclaimed warm one of a dead owner",
      container({ ...detached, "picoclaw.role": "warm" }, 0),
      undefined,
      false,
      true,
    ],
    [
      "a claimed warm one that was detached",
      container({ ...process, "picoclaw.role": "warm" }, 5),
      lease({ lease: "detached" }),
      false,
      false,
    ],
  ];
  test.each(cases.map((each) => [...each] as const))("%s", (_, listed, held, alive, expected) => {
    const facts = { lease: held, isAlive: () => alive, nowMs: now };
    expect(isStale(listed, { thresholdMs: 24 * HOUR }, facts)).toBe(expected);
  });
  test("a task known to be live is never stale", () => {
    const facts = { lease: undefined, isAlive: () => false, nowMs: now };
    const rule = { thresholdMs: 0, liveTasks: new Set(["t"]) };
    expect(isStale(container(process, 999), rule, facts)).toBe(false);
  });
  test("a lease is read back, touched and removed; a broken one counts as none", () => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-leases-"));
    const leases = createLeases(folder);
    const { usedAtMs: _, ...kept } = lease({});
    leases.write(kept);
    leases.touch("i", 5000);
    expect(leases.read("i")).toEqual({ ...kept, usedAtMs: 5000 });
    leases.remove("i");
    leases.touch("i", 1);
    expect(leases.read("i")).toBeUndefined();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe("the warm pool", () => {
  const spec = (over: Partial<ContainerSpec> = {}): ContainerSpec => ({
    name: "n",
    taskId: "t",
    image: "i",
    limits: LIMITS,
    network: { mode: "none" },
    ...over,
  });
  const pool = (size: number) => {
    const made: string[] = [];
    const warm = createWarmPool({
      size,
      delayMs: 0,
      newName: () => `warm-${made.length}`,
      onFailure: () => undefined,
      make: async ({ name, taskId }) => {
        made.push(`${name}${taskId}`);
        return { ok: true, id: name, name, from: "cold", createdAt: "" } satisfies StartedContainer;
      },
    });
    return { made, warm };
  };
  const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 2));

  test("it fills behind the first claim, hands each out once, and fills again", async () => {
    const { made, warm } = pool(2);
    expect(warm.claim(spec(), "image")).toBeUndefined();
    await settle();
    expect(made).toEqual(["warm-0", "warm-1"]);
    expect([warm.claim(spec(), "image")?.id, warm.claim(spec(), "image")?.id]).toEqual(["warm-0", "warm-1"]);
    await settle();
    expect(made).toHaveLength(4);
    expect((await warm.drain()).map(({ id }) => id)).toEqual(["warm-2", "warm-3"]);
    expect(warm.claim(spec(), "image")).toBeUndefined();
  });

  test.each([
    ["another image", {}, "other"],
    ["other limits", { limits: { ...LIMITS, pids: 9 } }, "image"],
    ["another user", { user: { uid: 1, gid: 1 } }, "image"],
    ["another network", { network: { mode: "open", allowedHosts: [] } }, "image"],
    ["another environment", { env: { A: "1" } }, "image"],
    ["a mount", { mounts: [{ kind: "volume", name: "v", target: "/v", readOnly: true }] }, "image"],
    ["the engine's socket", { mountDockerSocket: true }, "image"],
  ] as const)("%s is not served from it", async (_, over, image) => {
    const { warm } = pool(1);
    warm.claim(spec(), "image");
    await settle();
    expect(warm.claim(spec(over), image)).toBeUndefined();
    expect(warm.claim(spec(), "image")?.id).toBe("warm-0");
  });

  test("a process that ends at once has begun nothing", async () => {
    const { made, warm } = pool(2);
    warm.claim(spec(), "image");
    expect(await warm.drain()).toEqual([]);
    await settle();
    expect(made).toEqual([]);
  });

  test("size 0 keeps nothing warm", async () => {
    const { made, warm } = pool(0);
    warm.claim(spec(), "image");
    await settle();
    expect(made).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createHolderRecords,
  findStoppedHolder,
  type HolderRecord,
  inodeOf,
  type LockOptions,
  nameLockHolder,
  withFolderLocks,
} from "../../../src/infrastructure/engine/folder-lock.ts";
import { processBirth } from "../../../src/infrastructure/engine/process-table.ts";
import { requirePart } from "../../require.ts";

interface Said {
  readonly said: number;
}

describe.if(process.platform === "linux")("a process that holds the lock of a folder", () => {
  let folder: string;
  let home: string;
  let children: ChildProcess[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "picoclaw-holder-"));
    home = mkdtempSync(join(tmpdir(), "picoclaw-holder-home-"));
    children = [];
  });
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    for (const path of [folder, home]) rmSync(path, { recursive: true, force: true });
  });

  /** `said`: the number that the program itself has. */
  async function start(script: string, around: readonly string[] = []): Promise<ChildProcess & Said> {
    const path = join(import.meta.dir, script);
    const [program = "", ...args] = [...around, process.execPath, "--no-env-file", path, folder, home];
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    const [said] = await once(child.stdout!, "data");
    return Object.assign(child, { said: Number(said) });
  }

  async function untilStopped(pid: number): Promise<void> {
    while (!/\) T \d/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await Bun.sleep(5);
  }

  async function stop(child: ChildProcess): Promise<void> {
    child.kill("SIGSTOP");
    await untilStopped(child.pid as number);
  }

  const inode = (path: string) => {
    const fd = openSync(path, "r");
    const found = inodeOf(fd);
    closeSync(fd);
    return found;
  };
  const found = (path = folder) => findStoppedHolder(inode(path), createHolderRecords(home));
  const take = (options: Partial<LockOptions> = {}) =>
    withFolderLocks(
      [folder],
      { timeoutMs: 800, deadAfterMs: 0, holders: createHolderRecords(home), ...options },
      () => "mine",
    );
  const lives = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;

  /** As a PicoClaw would write it, but for what is given. */
  function forge(pid: number, changed: Partial<HolderRecord> = {}): string {
    const file = join(home, "holders", "forged.json");
    mkdirSync(join(home, "holders"), { recursive: true, mode: 0o700 });
    writeFileSync(file, JSON.stringify({ pid, birth: processBirth(pid), ...inode(folder), ...changed }), {
      mode: 0o600,
    });
    return file;
  }

  test("is waited for while it runs", async () => {
    const holder = await start("lock-child.ts");
    expect(await take()).toBe("busy");
    expect(lives(holder)).toBe(true);
  }, 30_000);

  test("and is stopped is ended after a while, which is told, before its successor takes the lock", async () => {
    const holder = await start("lock-child.ts");
    await stop(holder);
    expect(found()?.pid).toBe(holder.said);
    const exit = once(holder, "exit");
    const ended: number[] = [];
    expect(await take({ timeoutMs: 60_000, onEnded: (pid) => ended.push(pid) })).toBe("mine");
    expect(await exit).toEqual([null, "SIGKILL"]);
    expect(ended).toEqual([holder.said]);
    // Neither its own note nor its successor's stays.
    createHolderRecords(home).of(inode(folder));
    expect(readdirSync(join(home, "holders"))).toEqual([]);
  }, 60_000);

  test("and is stopped for a shorter time goes on", async () => {
    const holder = await start("lock-child.ts");
    await stop(holder);
    expect(await take({ deadAfterMs: 60_000 })).toBe("busy");
    holder.kill("SIGCONT");
    expect(lives(holder)).toBe(true);
  }, 30_000);

  test("of one folder is nobody to those who wait for another, or who have another home", async () => {
    await stop(await start("lock-child.ts"));
    expect(found()).not.toBeNull();
    expect(found(home)).toBeNull();
    expect(findStoppedHolder(inode(folder), createHolderRecords(join(home, "other")))).toBeNull();
  }, 30_000);

  test("and is another program, suspended by its user, is left alone", async () => {
    const stranger = await start("flock-child.ts");
    await stop(stranger);
    expect(await take()).toBe("busy");
    expect(lives(stranger)).toBe(true);
    expect(nameLockHolder(folder)).toEndWith(` (pid ${stranger.said})`);
    expect(nameLockHolder(home)).toBeNull();
  }, 30_000);

  test("is ended for a note only if that names it, its birth, this folder, and nobody else could write it", async () => {
    const stranger = await start("flock-child.ts");
    await stop(stranger);
    const other = spawn("sleep", ["60"], { stdio: "ignore" });
    children.push(other);
    await stop(other);
    const pid = stranger.said;
    const [place = "", started] = processBirth(pid).split(" ");
    const notes: Partial<HolderRecord>[] = [
      { birth: `${place} ${Number(started) - 1}` },
      { birth: `${place}0 ${started}` },
      { device: `${inode(folder).device}0` },
      { inode: inode(home).inode },
      { pid: other.pid as number, birth: processBirth(other.pid as number) },
    ];
    forge(pid);
    expect(found()?.pid).toBe(pid);
    for (const note of notes) {
      forge(pid, note);
      expect([note, found()]).toEqual([note, null]);
    }
    chmodSync(forge(pid), 0o620);
    expect(found()).toBeNull();
    chmodSync(forge(pid), 0o600);
    chmodSync(join(home, "holders"), 0o720);
    expect(found()).toBeNull();
  }, 30_000);

  test.if(requirePart("bwrap"))(
    "of a container's folder at the same path is left alone, whatever a note says",
    async () => {
      const sealed = [
        "--bind",
        "/",
        "/",
        "--dev-bind",
        "/dev",
        "/dev",
        "--tmpfs",
        folder,
        "--die-with-parent",
      ];
      const container = await start("flock-child.ts", ["bwrap", ...sealed]);
      const inside = container.said;
      process.kill(inside, "SIGSTOP");
      await untilStopped(inside);
      forge(inside);
      const holder = await start("flock-child.ts");
      expect(await take()).toBe("busy");
      expect([lives(container), lives(holder)]).toEqual([true, true]);
      expect(() => process.kill(inside, 0)).not.toThrow();
      process.kill(inside, "SIGKILL");
    },
    30_000,
  );
});

/** No process is ended for holding a lock, not even a suspended PicoClaw: it is named, so that a person can decide. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nameLockHolder, withFolderLocks } from "../../../src/infrastructure/platform/folder-lock.ts";

describe.if(process.platform === "linux")("a process that holds the lock of a folder", () => {
  let folder: string;
  let children: ChildProcess[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "picoclaw-holder-"));
    children = [];
  });
  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(script: string): Promise<ChildProcess> {
    const path = join(import.meta.dir, script);
    const child = spawn(process.execPath, ["--no-env-file", path, folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    children.push(child);
    await once(child.stdout!, "data");
    return child;
  }

  async function stop(child: ChildProcess): Promise<void> {
    child.kill("SIGSTOP");
    while (!/\) T \d/.test(readFileSync(`/proc/${child.pid}/stat`, "utf8"))) await Bun.sleep(5);
  }

  const take = (timeoutMs: number) => withFolderLocks([folder], { timeoutMs }, () => "mine");
  const lives = ({ exitCode, signalCode }: ChildProcess) => exitCode === null && signalCode === null;

  test("is waited for while it runs", async () => {
    const holder = await start("lock-child.ts");
    expect(await take(300)).toBe("busy");
    expect(lives(holder)).toBe(true);
  }, 300_000);

  for (const script of ["lock-child.ts", "flock-child.ts"])
    test(`and is stopped is named and left alone, and continues when it is resumed (${script})`, async () => {
      const holder = await start(script);
      await stop(holder);
      expect(await take(1_500)).toBe("busy");
      expect(nameLockHolder(folder)).toEndWith(` (pid ${holder.pid})`);
      holder.kill("SIGCONT");
      expect(await take(100)).toBe("busy");
      expect(lives(holder)).toBe(true);
    }, 300_000);

  test("and is ended leaves the lock to a waiting process, and its name nowhere", async () => {
    const holder = await start("lock-child.ts");
    await stop(holder);
    const waiting = take(20_000);
    holder.kill("SIGKILL");
    expect(await waiting).toBe("mine");
    expect(nameLockHolder(folder)).toBeNull();
  }, 300_000);
});

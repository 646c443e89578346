/** Set-ups that need root: a file system of a few blocks, and one that is read-only. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, PROGRAM, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-root-"));
const mounted: string[] = [];

function mount(name: string, options: string): string {
  const place = join(folder, name);
  mkdirSync(place);
  if (spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", place]).status === 0) mounted.push(place);
  return place;
}

const possible = process.getuid?.() === 0 && process.platform === "linux" && requirePart("mount");
afterAll(() => {
  for (const place of mounted) spawnSync("umount", [place]);
  rmSync(folder, { recursive: true, force: true });
});

function apply(
  workspace: string,
  commands: unknown,
  args: readonly string[] = [],
  home = join(folder, "home"),
) {
  const ran = spawnSync(PROGRAM, ["apply", ...args], {
    cwd: workspace,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: folder,
      PICOCLAW_HOME: home,
      PICOCLAW_LOCALE: "en",
    },
    input: JSON.stringify(commands),
    encoding: "utf8",
    timeout: 120_000,
  });
  return { code: ran.status, said: `${ran.stdout}${ran.stderr}` };
}

describe.if(possible)("no space left", () => {
  let place: string;
  let workspace: string;
  beforeAll(() => {
    place = mount("small", "size=1m");
    workspace = join(place, "ws");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "old.txt"), "kept");
  });

  test("one edit that does not fit fails by name with the remedy, the others are done, and undo works", () => {
    const { code, said } = apply(workspace, [
      create("a.txt", "1"),
      create("big.txt", "x".repeat(2_000_000)),
      create("b.txt", "2"),
    ]);
    expect(code).toBe(1);
    expect(said).toContain("failed to write file big.txt: no space left on device: big.txt");
    expect(said).toContain("Free some disk space.");
    expect(
      readdirSync(workspace)
        .filter((name) => !name.startsWith("."))
        .sort(),
    ).toEqual(["a.txt", "b.txt", "old.txt"]);
    const undone = spawnSync(PROGRAM, ["undo"], {
      cwd: workspace,
      env: { PATH: process.env.PATH ?? "", HOME: folder, PICOCLAW_HOME: join(folder, "home") },
    });
    expect(undone.status).toBe(0);
    expect(readdirSync(workspace).filter((name) => !name.startsWith("."))).toEqual(["old.txt"]);
  });

  test("a server whose store takes no more messages says that it is not ready", async () => {
    const full = mount("serve", "size=4m");
    for (const name of ["ws", "home"]) mkdirSync(join(full, name));
    const env = { PATH: process.env.PATH ?? "", HOME: full, PICOCLAW_HOME: join(full, "home") };
    const child = Bun.spawn([PROGRAM, "serve", "--port", "0", "--json"], {
      cwd: join(full, "ws"),
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    try {
      const reader = child.stdout.getReader();
      const { url } = JSON.parse(new TextDecoder().decode((await reader.read()).value)) as { url: string };
      const ready = async () => (await fetch(`${url}/readyz`)).status;
      expect(await ready()).toBe(200);
      const { bavail, bsize } = statfsSync(full);
      writeFileSync(join(full, "fill"), Buffer.alloc(bavail * bsize));
      // The answer is kept for two seconds, and some room may be left in files that exist.
      const deadline = Date.now() + 120_000;
      while ((await ready()) === 200 && Date.now() < deadline) await Bun.sleep(500);
      expect(await ready()).toBe(503);
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  }, 300_000);

  test("a message in a chat fails with the remedy, however much room is left, until there is enough", () => {
    // The first start needs room for its schema twice: in the store, and in its log.
    const full = mount("chat", "size=1536k");
    for (const name of ["ws", "home"]) mkdirSync(join(full, name));
    const env = { PATH: process.env.PATH ?? "", HOME: full, PICOCLAW_HOME: join(full, "home") };
    const chat = () => {
      const options = { cwd: join(full, "ws"), env: { ...env, PICOCLAW_LOCALE: "en" } };
      const ran = spawnSync(PROGRAM, ["chat", "/memo x = y"], { ...options, encoding: "utf8" });
      return { code: ran.status, said: `${ran.stdout}${ran.stderr}` };
    };
    expect(chat().code).toBe(0);
    const failed: string[] = [];
    for (let left = 0; left <= 160; left += 4) {
      writeFileSync(join(full, "fill"), "");
      const { bavail, bsize } = statfsSync(full);
      writeFileSync(join(full, "fill"), Buffer.alloc(bavail * bsize - left * 1024));
      const { code, said } = chat();
      if (code === 0) break;
      failed.push(said);
    }
    expect(failed.length).toBeGreaterThan(1);
    for (const said of failed) {
      expect(said).toMatch(/[Ff]ree (some )?(disk )?space/);
      expect(said).not.toContain("unexpected");
    }
    expect(failed.some((said) => said.includes("No space left on the disk"))).toBe(true);
  }, 300_000);

  test("a disk that is full before the job applies nothing and says so", () => {
    spawnSync("sh", ["-c", `cat /dev/zero > ${join(place, "fill")}`]);
    for (const commands of [[create("old.txt", "new")], [shell("echo new > old.txt")]]) {
      const { code, said } = apply(workspace, commands);
      expect([1, 3]).toContain(code as number);
      expect(said).toContain("No space left on the disk");
      expect(said).not.toMatch(/\n\s+at /);
      expect(readFileSync(join(workspace, "old.txt"), "utf8")).toBe("kept");
    }
    rmSync(join(place, "fill"));
    expect(apply(workspace, [create("old.txt", "new")]).code).toBe(0);
  });
});

describe.if(possible)("a TMPDIR without space", () => {
  const program = (args: readonly string[], TMPDIR: string, cwd: string) => {
    const env = { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR, PICOCLAW_LOCALE: "en" };
    const home = join(folder, "home-of-full-tmp");
    const ran = spawnSync(PROGRAM, args, {
      cwd,
      env: { ...env, PICOCLAW_HOME: home },
      encoding: "utf8",
      input: "",
      timeout: 120_000,
    });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  };

  test("lets the program start and a job land and be undone; the demo says what lacks", () => {
    const place = mount("full-tmp", "size=64k");
    spawnSync("sh", ["-c", `cat /dev/zero > ${join(place, "fill")}`]);
    expect(() => writeFileSync(join(place, "more"), "x")).toThrow("ENOSPC");
    const workspace = join(folder, "beside-full-tmp");
    mkdirSync(workspace);
    writeFileSync(join(workspace, "a.txt"), "a\n");
    const patch = [create("b.txt", "b\n"), shell("cat a.txt > c.txt")];
    writeFileSync(join(folder, "patch.json"), JSON.stringify(patch));
    expect(program(["--version"], place, workspace)).toMatchObject({ code: 0, err: "" });
    const applied = program(["apply", join(folder, "patch.json")], place, workspace);
    expect({ ...applied, out: applied.out.split("\n")[0] }).toEqual({ code: 0, out: "Applied", err: "" });
    expect(readdirSync(workspace).sort()).toEqual(["a.txt", "b.txt", "c.txt"]);
    expect(program(["undo"], place, workspace)).toMatchObject({ code: 0, err: "" });
    expect(readdirSync(workspace)).toEqual(["a.txt"]);
    const demo = program(["demo"], place, workspace);
    expect({ code: demo.code, out: demo.out }).toEqual({ code: 3, out: "" });
    expect(demo.err).toMatch(/^No space left on the disk: \S+\/full-tmp\/\S+\nFree some disk space\.\n$/);
    expect(readdirSync(place).sort()).toEqual(["fill", "more"]);
  });
});

describe.if(possible)("a read-only file system", () => {
  test("is refused by name, and nothing is lost", () => {
    const place = mount("fixed", "size=1m");
    writeFileSync(join(place, "a.txt"), "kept");
    spawnSync("mount", ["-o", "remount,ro", place]);
    for (const commands of [[create("a.txt", "new")], [shell("echo new > a.txt")]]) {
      const { code, said } = apply(place, commands);
      expect([1, 3]).toContain(code as number);
      expect(said).toContain("Read-only file system");
      expect(said).not.toMatch(/\n\s+at /);
    }
    expect(readFileSync(join(place, "a.txt"), "utf8")).toBe("kept");
    expect(readdirSync(place).filter((name) => name.startsWith(".picoclaw"))).toEqual([]);
  });

  test("is named where it is that of PicoClaw's home, not of the workspace", () => {
    const home = mount("fixed-home", "size=1m,ro");
    const workspace = join(folder, "writable");
    mkdirSync(workspace);
    const { code, said } = apply(workspace, [create("a.txt", "new")], [], home);
    expect(code).toBe(3);
    expect(said).toContain(`Read-only file system: ${home}`);
    expect(readdirSync(workspace)).toEqual([]);
  });
});

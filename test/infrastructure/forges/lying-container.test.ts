import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { createHostGit } from "../../../src/infrastructure/forges/host-git.ts";
import {
  createPublisher,
  findPatchTrouble,
  makePublishFolder,
  sweepPublishFolders,
} from "../../../src/infrastructure/forges/publisher.ts";
import { createOwnerNames } from "../../../src/infrastructure/platform/process-table.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { git, seedRepository } from "../../fakes/forges/seed-repository.ts";
import { addRepository, createWorld } from "../../fakes/forges/world.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

/** As git packs bytes into the lines of a binary patch. */
function base85(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += 52) {
    const piece = bytes.subarray(at, at + 52);
    const { length } = piece;
    let line = String.fromCharCode(length <= 26 ? 64 + length : 96 + length - 26);
    for (let i = 0; i < length; i += 4) {
      const four = [0, 1, 2, 3].map((n) => piece[i + n] ?? 0);
      let value = four.reduce((sum, byte) => sum * 256 + byte, 0);
      let digits = "";
      for (let n = 0; n < 5; n++) {
        digits = DIGITS[value % 85] + digits;
        value = Math.floor(value / 85);
      }
      line += digits;
    }
    lines.push(line);
  }
  return lines.join("\n");
}

/** A new file of zeros: megabytes in a patch of kilobytes. */
function bomb(megabytes: number): Buffer {
  const zeros = Buffer.alloc(megabytes * 1024 ** 2);
  const id = spawnSync("git", ["hash-object", "--stdin"], { input: zeros }).stdout.toString().trim();
  return Buffer.from(
    [
      "diff --git a/zeros b/zeros",
      "new file mode 100644",
      `index ${"0".repeat(40)}..${id}`,
      "GIT binary patch",
      `literal ${zeros.length}`,
      base85(deflateSync(zeros, { level: 1 })),
      "",
      "literal 0",
      "HcmV?d00001",
      "",
      "",
    ].join("\n"),
  );
}

describe("a patch of a container that lies", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-lying-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const publish = (patch: Uint8Array) => {
    const world = createWorld();
    const bare = seedRepository(folder, { "a.txt": "a\n" });
    addRepository(world, "acme/tools", bare);
    const server = startGitHub(world);
    const publisher = createPublisher({
      folder: join(folder, "own"),
      path: process.env.PATH ?? "",
      passed: {},
      timeoutMs: 60_000,
      owner: "test",
    });
    return publisher
      .publish({
        cloneUrl: `${server.url}/acme/tools.git`,
        credentials: { username: "x-access-token", token: world.token },
        baseCommit: git(bare, "rev-parse", "main"),
        baseBranch: "main",
        branch: "picoclaw/1",
        previous: null,
        patch,
        tree: null,
        message: "x",
        author: { name: "x", email: "x@example.org" },
        at: new Date("2026-01-02T03:04:05Z"),
        isProtected: () => false,
        leftOut: () => [],
        secrets: [],
        insecureTls: false,
        signal: new AbortController().signal,
      })
      .finally(() => server.stop());
  };

  test("that unpacks to more than is allowed is never given to git", async () => {
    const patch = bomb(300);
    expect(patch.length).toBeLessThan(4 * 1024 ** 2);
    expect(await publish(patch)).toMatchObject({ status: "failed", reason: "bad-patch" });
  });

  test("of ordinary binary files is published", async () => {
    expect(await publish(bomb(3))).toMatchObject({ status: "pushed", paths: ["zeros"] });
  });

  test("is measured by all it declares, and by what its deltas make of their base", () => {
    const limits = { files: 3, segments: 30, unpackedBytes: 1000 };
    const trouble = (text: string) => findPatchTrouble(Buffer.from(text), limits);
    const file = (path: string) => `diff --git a/${path} b/${path}\n`;
    const size = (value: number): number[] =>
      value < 128 ? [value] : [(value % 128) + 128, ...size(Math.floor(value / 128))];
    const delta = (result: number) => {
      const bytes = Buffer.from([...size(10), ...size(result), 0x90, 10]);
      return `GIT binary patch\ndelta ${bytes.length}\n${base85(deflateSync(bytes))}\n\n`;
    };
    expect(trouble(`${file("a")}GIT binary patch\nliteral 1000\n`)).toBeNull();
    expect(trouble(`${file("a")}literal 600\n${file("b")}literal 600\n`)).toContain("unpack");
    expect(trouble(`${file("a")}${delta(900)}`)).toBeNull();
    expect(trouble(`${file("a")}${delta(5_000_000_000)}`)).toContain("unpack");
    expect(trouble(`${file("a")}delta 20\nzzzz\n\n`)).toContain("unpack");
    expect(trouble(`${file("a")}literal 0x7fffffff\n`)).toContain("not a patch of ours");
    expect(trouble(`${file("a")}copy from b\ncopy to a\n`)).toContain("not a patch of ours");
    expect(trouble(["a", "b", "c", "d"].map(file).join(""))).toContain("files");
    expect(trouble(["a", "b"].map((name) => file(`${"x/".repeat(20)}${name}`)).join(""))).toContain(
      "folders",
    );
    expect(trouble(file(`${"x/".repeat(500)}a`))).toContain("folders");
    // The file's content differs from the patch.
    expect(trouble(`${file("a")}@@ -0,0 +1,2 @@\n+copy from\n+literal 99999\r\ncopy\n`)).toBeNull();
  });

  test("git itself is held to a limit of memory", async () => {
    const home = mkdtempSync(join(folder, "git-"));
    const host = createHostGit({
      folder: home,
      path: process.env.PATH ?? "",
      askpass: "/bin/false",
      secret: 2,
      passed: {},
      own: {},
      insecureTls: false,
      timeoutMs: 60_000,
      signal: new AbortController().signal,
    });
    expect((await host.run(["init", "--quiet", "--bare", home])).code).toBe(0);
    const said = await host.run(["-c", "alias.limits=!ulimit -v; ulimit -f", "limits"]);
    expect(said.stdout.split("\n").slice(0, 2)).not.toContain("unlimited");
  });
});

describe("what a killed process left of a publishing", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-killed-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const { isGone, next } = createOwnerNames(process.pid);
  const holding = (below: string, text: string) =>
    readdirSync(below, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => readFileSync(file, "latin1").includes(text));

  test("kill -9 in the middle leaves no token, and the next start removes the rest", async () => {
    const own = join(folder, "killed");
    const asked = Promise.withResolvers<void>();
    const silent = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: () => {
        asked.resolve();
        return new Promise<Response>(() => {});
      },
    });
    const program = join(import.meta.dir, "publish-child.ts");
    const child = Bun.spawn([process.execPath, program, own, `http://127.0.0.1:${silent.port}/acme/x.git`], {
      stdout: "ignore",
      stderr: "inherit",
    });
    await asked.promise;
    sweepPublishFolders(own, { isGone, now: () => new Date() });
    expect(readdirSync(own).length).toBe(1);
    expect(holding(own, "token-in-a-file")).toEqual([]);
    child.kill("SIGKILL");
    await child.exited;
    expect(holding(own, "token-in-a-file")).toEqual([]);
    silent.stop(true);
    sweepPublishFolders(own, { isGone, now: () => new Date() });
    expect(readdirSync(own)).toEqual([]);
  });

  test("living containers stay; one without an owner is removed when it is old", () => {
    const own = join(folder, "others");
    makePublishFolder(own, next());
    const nobodys = join(own, "publish-old");
    mkdirSync(nobodys);
    writeFileSync(join(nobodys, "secret"), "x");
    sweepPublishFolders(own, { isGone, now: () => new Date() });
    expect(readdirSync(own).length).toBe(2);
    utimesSync(nobodys, 0, 0);
    sweepPublishFolders(own, { isGone, now: () => new Date() });
    expect(readdirSync(own).length).toBe(1);
    sweepPublishFolders(join(folder, "never-made"), { isGone, now: () => new Date() });
  });
});

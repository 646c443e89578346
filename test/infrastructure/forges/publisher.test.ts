import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PublishRequest } from "../../../src/application/ports/forges.ts";
import { createPublisher } from "../../../src/infrastructure/forges/publisher.ts";
import { gitOverHttp } from "../../fakes/forges/git-over-http.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { git, pushCommit, seedRepository } from "../../fakes/forges/seed-repository.ts";
import { addRepository, createWorld, type World } from "../../fakes/forges/world.ts";

describe("publishing a task's change", () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-publish-"));
  const own = join(folder, "own");
  const publisher = createPublisher({
    folder: own,
    path: process.env.PATH ?? "",
    passed: {},
    timeoutMs: 120_000,
    owner: "test",
  });
  let world: World;
  let bare: string;
  let server: ReturnType<typeof startGitHub> | undefined;
  let base: string;

  beforeEach(() => {
    server?.stop();
    world = createWorld();
    bare = seedRepository(folder, { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n" });
    addRepository(world, "acme/tools", bare);
    server = startGitHub(world);
    base = git(bare, "rev-parse", "main");
  });
  afterAll(() => {
    server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The patch that a change of the repository's files makes. */
  const patchOf = (change: (tree: string) => void, from = base): Buffer => {
    const tree = mkdtempSync(join(folder, "tree-"));
    git(tree, "clone", "--quiet", bare, ".");
    git(tree, "checkout", "--quiet", from);
    change(tree);
    git(tree, "add", "--all");
    return spawnSync("git", ["diff", "--cached", "--binary", "--full-index", from], { cwd: tree }).stdout;
  };
  const edit = patchOfText("a.txt", "one\nTWO\nthree\n");
  function patchOfText(path: string, text: string) {
    return (tree: string) => writeFileSync(join(tree, path), text);
  }
  const request = (patch: Uint8Array, more: Partial<PublishRequest> = {}): PublishRequest => ({
    cloneUrl: `${server?.url}/acme/tools.git`,
    credentials: { username: "x-access-token", token: world.token },
    baseCommit: base,
    baseBranch: "main",
    branch: "picoclaw/7-fix",
    previous: null,
    patch,
    tree: null,
    message: "Fix it\n\nCloses #7",
    author: { name: "PicoClaw", email: "picoclaw@example.org" },
    at: new Date("2026-01-02T03:04:05Z"),
    isProtected: (path) => path.startsWith(".github/workflows/"),
    leftOut: () => [],
    secrets: [],
    insecureTls: false,
    signal: new AbortController().signal,
    ...more,
  });

  test("makes one commit on the base and pushes it to its branch", async () => {
    const published = await publisher.publish(request(patchOf(edit)));
    expect(published).toMatchObject({ status: "pushed", paths: ["a.txt"], base: "same" });
    expect(git(bare, "log", "--format=%s|%an|%P", "-1", "picoclaw/7-fix")).toBe(`Fix it|PicoClaw|${base}`);
    expect(git(bare, "show", "picoclaw/7-fix:a.txt")).toBe("one\nTWO\nthree");
  });

  test("the same request again makes the same commit and changes nothing", async () => {
    const patch = patchOf(edit);
    const first = await publisher.publish(request(patch));
    expect(await publisher.publish(request(patch))).toEqual(first);
  });

  test("carries binary files, modes, links, removals and strange names", async () => {
    const patch = patchOf((tree) => {
      writeFileSync(join(tree, "bin"), Buffer.from([0, 1, 2, 255, 0, 10]));
      writeFileSync(join(tree, "run me.sh"), "#!/bin/sh\n");
      chmodSync(join(tree, "run me.sh"), 0o755);
      symlinkSync("a.txt", join(tree, "リンク"));
      rmSync(join(tree, "b.txt"));
    });
    expect(await publisher.publish(request(patch))).toMatchObject({ status: "pushed" });
    const tree = git(bare, "-c", "core.quotePath=false", "ls-tree", "picoclaw/7-fix");
    expect(tree.split("\n").map((line) => line.replace(/ blob [0-9a-f]+\t/, " "))).toEqual([
      "100644 a.txt",
      "100644 bin",
      "100755 run me.sh",
      "120000 リンク",
    ]);
  });

  test("no change is nothing to push", async () => {
    expect(await publisher.publish(request(new Uint8Array()))).toEqual({ status: "nothing", leftOut: [] });
  });

  test("a protected path stops everything, however it is reached", async () => {
    for (const change of [
      (tree: string) => {
        spawnSync("mkdir", ["-p", join(tree, ".github/workflows")]);
        writeFileSync(join(tree, ".github/workflows/ci.yml"), "on: push\n");
      },
      (tree: string) => {
        spawnSync("mkdir", ["-p", join(tree, ".github/workflows")]);
        spawnSync("mv", [join(tree, "b.txt"), join(tree, ".github/workflows/b.yml")]);
      },
    ])
      expect(await publisher.publish(request(patchOf(change)))).toMatchObject({ status: "protected" });
    expect(git(bare, "branch", "--list")).toBe("* main");
  });

  test("what stays out is as it was, and the rest is published", async () => {
    const patch = patchOf((tree) => {
      edit(tree);
      spawnSync("mkdir", ["-p", join(tree, ".github/workflows"), join(tree, "dir")]);
      writeFileSync(join(tree, ".github/workflows/ci.yml"), "on: push\n");
      rmSync(join(tree, "b.txt"));
      writeFileSync(join(tree, "dir/new.txt"), "x\n");
    });
    const out = [".github/workflows/ci.yml", "b.txt"];
    const leftOut: PublishRequest["leftOut"] = ({ changed, base: tracked }) => {
      expect(tracked).toEqual(["a.txt", "b.txt"]);
      return changed.filter((path) => out.includes(path)).map((path) => ({ path, why: "ci" }));
    };
    expect(await publisher.publish(request(patch, { leftOut }))).toMatchObject({
      status: "pushed",
      paths: ["a.txt", "dir/new.txt"],
      leftOut: out.map((path) => ({ path, why: "ci" })),
    });
    const names = git(bare, "ls-tree", "-r", "--name-only", "picoclaw/7-fix");
    expect(names.split("\n")).toEqual(["a.txt", "b.txt", "dir/new.txt"]);
    const all: PublishRequest["leftOut"] = ({ changed }) => changed.map((path) => ({ path, why: "tool" }));
    expect(await publisher.publish(request(patch, { leftOut: all }))).toMatchObject({ status: "nothing" });
  });

  test("a known secret is not pushed, in a text, a binary file, many lines, a name or a link; one that was there before is not reported", async () => {
    const key = "-----BEGIN KEY-----\nabcdefghijklmnop0123456789\n-----END KEY-----";
    const secrets = ["s3cret-value-1", key, "short"];
    for (const [name, content] of [
      ["c.txt", "token: s3cret-value-1\n"],
      ["bin", Buffer.concat([Buffer.from([0, 255]), Buffer.from("s3cret-value-1")])],
      ["key.pem", `x\n${key}\n`],
    ] as const) {
      const patch = patchOf((tree) => writeFileSync(join(tree, name), content));
      expect(await publisher.publish(request(patch, { secrets }))).toEqual({
        status: "secret",
        paths: [name],
      });
    }
    for (const [change, path] of [
      [(tree: string) => writeFileSync(join(tree, "s3cret-value-1.txt"), "x\n"), "s3cret-value-1.txt"],
      [
        (tree: string) => {
          mkdirSync(join(tree, "sub/s3cret-value-1"), { recursive: true });
          writeFileSync(join(tree, "sub/s3cret-value-1/x"), "x\n");
        },
        "sub/s3cret-value-1/x",
      ],
      [(tree: string) => symlinkSync("to/s3cret-value-1", join(tree, "link")), "link"],
    ] as const)
      expect(await publisher.publish(request(patchOf(change), { secrets }))).toEqual({
        status: "secret",
        paths: [path],
      });
    expect(git(bare, "branch", "--list")).toBe("* main");
    pushCommit(bare, "main", { "a.txt": "s3cret-value-1\n", "s3cret-value-1": "x\n" });
    const tip = git(bare, "rev-parse", "main");
    const patch = patchOf((tree) => {
      writeFileSync(join(tree, "a.txt"), "s3cret-value-1\nshort\n");
      writeFileSync(join(tree, "s3cret-value-1"), "y\n");
    }, tip);
    const published = await publisher.publish(request(patch, { secrets, baseCommit: tip }));
    expect(published).toMatchObject({ status: "pushed" });
    expect(readdirSync(own)).toEqual([]);
  });

  test("a patch that reaches outside or into .git is refused", async () => {
    for (const path of ["../escape", ".git/config", "/etc/passwd"]) {
      const patch = `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x\n`;
      const published = await publisher.publish(request(Buffer.from(patch)));
      expect(published).toMatchObject({ status: "failed", reason: "bad-patch" });
    }
  });

  test("another owner's branch of that name is not touched", async () => {
    git(bare, "branch", "picoclaw/7-fix", "main");
    pushCommit(bare, "picoclaw/7-fix", { "theirs.txt": "x\n" });
    const before = git(bare, "rev-parse", "picoclaw/7-fix");
    expect(await publisher.publish(request(patchOf(edit)))).toEqual({ status: "branch-taken" });
    expect(git(bare, "rev-parse", "picoclaw/7-fix")).toBe(before);
  });

  test("our own earlier push is replaced, unless other commits build on it", async () => {
    const first = await publisher.publish(request(patchOf(edit)));
    const previous = first.status === "pushed" ? first.commit : "";
    const better = patchOf(patchOfText("a.txt", "one\n2\nthree\n"));
    expect(await publisher.publish(request(better, { previous }))).toMatchObject({ status: "pushed" });
    expect(git(bare, "show", "picoclaw/7-fix:a.txt")).toBe("one\n2\nthree");
    pushCommit(bare, "picoclaw/7-fix", { "theirs.txt": "x\n" });
    expect(await publisher.publish(request(patchOf(edit), { previous }))).toEqual({ status: "branch-taken" });
  });

  test("a base that moved is followed where the change still fits", async () => {
    pushCommit(bare, "main", { "b.txt": "moved\n" });
    expect(await publisher.publish(request(patchOf(edit)))).toMatchObject({
      status: "pushed",
      base: "moved",
    });
    expect(git(bare, "show", "picoclaw/7-fix:b.txt")).toBe("moved");
    expect(git(bare, "rev-parse", "picoclaw/7-fix^")).toBe(git(bare, "rev-parse", "main"));
  });

  test("a base that moved against the change is left where it was, and said", async () => {
    pushCommit(bare, "main", { "a.txt": "one\nzwei\nthree\n" });
    const published = await publisher.publish(request(patchOf(edit)));
    expect(published).toMatchObject({ status: "pushed", base: "conflicts" });
    expect(git(bare, "rev-parse", "picoclaw/7-fix^")).toBe(base);
  });

  test("a base that the branch never had brings no workflow along", async () => {
    // As code in the container could name it: the forge hands out the commits of forks as well.
    git(bare, "branch", "fork", "main");
    pushCommit(bare, "fork", { ".github/workflows/evil.yml": "on: push\n", "a.txt": "1\n2\n3\n" });
    const strange = git(bare, "rev-parse", "fork");
    git(bare, "update-ref", "refs/pull/9/head", strange);
    const patch = patchOf(patchOfText("a.txt", "1\n2\n3\n4\n"), strange);
    git(bare, "branch", "--quiet", "-D", "fork");
    for (const baseBranch of ["main", "gone"])
      expect(await publisher.publish(request(patch, { baseCommit: strange, baseBranch }))).not.toMatchObject({
        status: "pushed",
      });
    expect(git(bare, "branch", "--list")).toBe("* main");
  });

  test("a follow-up is committed on top of its own branch, also when a person pushed meanwhile", async () => {
    await publisher.publish(request(patchOf(edit)));
    const head = git(bare, "rev-parse", "picoclaw/7-fix");
    const more = patchOf(patchOfText("b.txt", "more\n"), head);
    pushCommit(bare, "picoclaw/7-fix", { "c.txt": "a person's\n" });
    const follow = { baseCommit: head, baseBranch: "picoclaw/7-fix", previous: head };
    expect(await publisher.publish(request(more, follow))).toMatchObject({ status: "pushed" });
    expect(git(bare, "log", "--format=%s", "picoclaw/7-fix").split("\n").length).toBe(4);
    expect(git(bare, "show", "picoclaw/7-fix:c.txt")).toBe("a person's");
  });

  test("a wrong token, a repository that is gone, a forge that is gone, no right to push: each is named", async () => {
    const patch = patchOf(edit);
    const wrong = { username: "x-access-token", token: "wrong-token-1234567890" };
    expect(await publisher.publish(request(patch, { credentials: wrong }))).toMatchObject({
      status: "failed",
      reason: "unauthorized",
    });
    expect(
      await publisher.publish(request(patch, { cloneUrl: `${server?.url}/acme/gone.git` })),
    ).toMatchObject({ status: "failed", reason: "not-found" });
    world.repositories.get("acme/tools")?.permissions.set(world.bot.login, "read");
    expect(await publisher.publish(request(patch))).toMatchObject({
      status: "rejected",
      reason: "no-permission",
    });
    server?.stop();
    expect(await publisher.publish(request(patch))).toMatchObject({
      status: "failed",
      reason: "unreachable",
    });
  });

  test("a hook of the forge that declines is named with what it said", async () => {
    writeFileSync(join(bare, "hooks/pre-receive"), "#!/bin/sh\necho 'no commits on Fridays' >&2\nexit 1\n");
    chmodSync(join(bare, "hooks/pre-receive"), 0o755);
    const published = await publisher.publish(request(patchOf(edit)));
    expect(published).toMatchObject({ status: "rejected", reason: "declined" });
    expect(JSON.stringify(published)).toContain("no commits on Fridays");
  });

  test("a token follows git to another name of the repository, and to no other host", async () => {
    const heard: string[] = [];
    const stranger = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(asked) {
        heard.push(asked.headers.get("authorization") ?? "none");
        return new Response("sign in", { status: 401, headers: { "www-authenticate": 'Basic realm="git"' } });
      },
    });
    let redirected = { service: "", to: "" };
    const forge = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch(asked) {
        const url = new URL(asked.url);
        const isMoved = url.pathname.startsWith("/acme/old.git");
        if (isMoved && url.searchParams.get("service") === redirected.service)
          return Response.redirect(
            `${redirected.to}${url.pathname.replace("old", "tools")}${url.search}`,
            302,
          );
        return gitOverHttp(world, new Request(asked.url.replace("old", "tools"), asked));
      },
    });
    try {
      const own = `http://127.0.0.1:${forge.port}`;
      const foreign = `http://127.0.0.1:${stranger.port}`;
      const moved = () => publisher.publish(request(patchOf(edit), { cloneUrl: `${own}/acme/old.git` }));
      const named = foreign.replace("//", "//x-access-token@");
      for (const service of ["git-upload-pack", "git-receive-pack"])
        for (const to of [foreign, named]) {
          redirected = { service, to };
          const published = await moved();
          expect(published).toMatchObject({ status: "failed", reason: "other" });
          expect(JSON.stringify(published)).toContain(`redirects git to ${foreign}`);
        }
      expect(heard.length).toBeGreaterThanOrEqual(4);
      expect(heard.filter((header) => header.includes(btoa(`x-access-token:${world.token}`)))).toEqual([]);
      redirected = { service: "git-receive-pack", to: own };
      expect(await moved()).toMatchObject({ status: "pushed" });
    } finally {
      await stranger.stop(true);
      await forge.stop(true);
    }
  });

  test("an abort ends it, and nothing of any call stays behind", async () => {
    const signal = AbortSignal.abort();
    expect(await publisher.publish(request(patchOf(edit), { signal }))).toMatchObject({ reason: "aborted" });
    expect(readdirSync(own)).toEqual([]);
  });
});

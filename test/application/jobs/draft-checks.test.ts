import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { dirname, join } from "node:path";
import type { Draft } from "../../../src/application/ports/jobs-draft.ts";
import { trustWorkspace } from "../../../src/config/trust.ts";
import { LEAST_ABI, landlockAbi } from "../../../src/infrastructure/platform/landlock.ts";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, edit, type Settings, shell } from "./worker-kit.ts";

const OVERLAY: Settings = { PICOCLAW_WORKER_TRANSACTION: "overlay", PICOCLAW_WORKER_CONFINE: "on" };

/** As most people have it: PicoClaw's folder in the home, where one layer of a home would lie inside another. */
const usual = (): Settings => ({ ...OVERLAY, PICOCLAW_HOME: join(bench.folder, "user", ".picoclaw") });

let bench: Bench;
beforeEach(() => {
  bench = createBench();
  bench.write("a.txt", "one\n");
});
afterEach(() => bench.remove());

async function open(settings: Settings): Promise<Draft> {
  const workspace = await bench.open(settings);
  const opened = await workspace.openDraft({
    source: "test",
    startedBy: "user",
    checked: true,
    signal: new AbortController().signal,
  });
  if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
  return opened.draft;
}

async function check(draft: Draft, command: string, more: object = {}) {
  const checked = await draft.check({ commands: [command], over: "draft", timeoutSeconds: 60, ...more });
  if (!checked.ok) throw new Error(JSON.stringify(checked));
  const run = checked.runs[0];
  return { exitCode: run?.exitCode, output: run?.output };
}

const run = (draft: Draft, ...commands: readonly object[]) =>
  draft.run({ attempt: 1, work: { patch: JSON.stringify(commands) } });

/** A freshly cloned foreign repository, whose tests reach for the home, for `/tmp` and for a port of this machine. */
function cloneStranger(port: number): void {
  const script = `echo stolen > ~/x; echo left > /tmp/picoclaw-left-behind; exec 3<>/dev/tcp/127.0.0.1/${port} && echo DIALLED`;
  const origin = join(bench.folder, "origin");
  mkdirSync(origin);
  writeFileSync(join(origin, "test.sh"), script);
  const git = (...args: string[]) => spawnSync("git", args, { cwd: origin, env: bench.environment() });
  git("init", "-q");
  git("add", ".");
  git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "x");
  spawnSync("git", ["clone", "-q", origin, join(bench.workspace, "clone")], { env: bench.environment() });
}

/** A port of this machine that counts who calls. */
async function listener() {
  let calls = 0;
  const server = createServer((socket) => {
    calls++;
    socket.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    calls: () => calls,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

describe.if(landlockAbi() >= LEAST_ABI)("checks where bubblewrap is missing", () => {
  test("are limited like the job: they write to the view, a home and a TMPDIR of their own, and to nothing else", async () => {
    const programs = join(bench.folder, "programs");
    mkdirSync(programs);
    for (const name of readdirSync("/usr/bin"))
      if (name !== "bwrap") symlinkSync(join("/usr/bin", name), join(programs, name));
    const home = bench.environment().PICOCLAW_HOME as string;
    trustWorkspace({ home, workspace: bench.workspace, now: new Date(0) });
    const outside = join(bench.folder, "outside");
    writeFileSync(outside, "kept\n");
    const draft = await open({
      PICOCLAW_WORKER_TRANSACTION: "copy",
      PICOCLAW_WORKER_CONFINE: "auto",
      PATH: programs,
    });
    await run(draft, edit("update", "a.txt", "two\n"));
    const host = await listener();
    const inside = `exec 3<>/dev/tcp/127.0.0.1/${host.port} && echo x > made && echo x > ~/mine && echo x > $TMPDIR/mine && cat a.txt`;
    for (const over of ["draft", "baseline"] as const) {
      expect(await check(draft, inside, { over })).toMatchObject({ exitCode: 0 });
      expect(await check(draft, `echo x > '${outside}'`, { over })).toMatchObject({ exitCode: 1 });
      expect(await check(draft, `echo x > '${bench.path("a.txt")}'`, { over })).toMatchObject({
        exitCode: 1,
      });
    }
    await host.close();
    expect([readFileSync(outside, "utf8"), bench.read("a.txt")]).toEqual(["kept\n", "one\n"]);
    expect(await draft.commit()).toMatchObject({ outcome: "committed" });
    expect([existsSync(bench.path("made")), bench.read("a.txt")]).toEqual([false, "two\n"]);
  });
});

describe("checks of a stranger's code", () => {
  if (requirePart("bwrap"))
    test("leave no file in the home or in /tmp, and reach no port of this machine unless they may", async () => {
      const host = await listener();
      cloneStranger(host.port);
      const workspace = await bench.open(OVERLAY, join(bench.workspace, "clone"));
      const opened = await workspace.openDraft({
        source: "test",
        startedBy: "user",
        checked: true,
        signal: new AbortController().signal,
      });
      if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
      const { exitCode, output } = await check(opened.draft, "bash test.sh");
      expect([exitCode, output]).toEqual([1, expect.not.stringContaining("DIALLED")]);
      expect(host.calls()).toBe(0);
      expect(await check(opened.draft, "bash test.sh", { network: true })).toMatchObject({
        output: expect.stringContaining("DIALLED"),
      });
      expect(host.calls()).toBe(1);
      await opened.draft.discard("test");
      expect(
        [join(bench.folder, "user", "x"), "/tmp/picoclaw-left-behind"].map((path) => existsSync(path)),
      ).toEqual([false, false]);
      await host.close();
    });

  test("do not run where nothing confines them, until the folder is trusted", async () => {
    const draft = await open({});
    const request = { commands: ["echo ran"], over: "draft", timeoutSeconds: 10 } as const;
    expect(await draft.check(request)).toEqual({
      ok: false,
      why: "untrusted",
      message: expect.stringContaining("picoclaw trust"),
    });
    const home = bench.environment().PICOCLAW_HOME as string;
    trustWorkspace({ home, workspace: bench.workspace, now: new Date(0) });
    expect(await draft.check(request)).toMatchObject({ ok: true, runs: [{ exitCode: 0, output: "ran\n" }] });
    await draft.discard("test");
  });
});

if (requirePart("bwrap"))
  describe("checks in their own sandbox", () => {
    test("two of them listen on one port at once, and reach their own", async () => {
      const [x, y] = [await open(OVERLAY), await open(OVERLAY)];
      const serve = `node -e '
        const server = require("node:net").createServer((s) => s.end("hello"));
        server.listen(45871, "127.0.0.1", () => setTimeout(() =>
          require("node:net").connect(45871, "127.0.0.1").on("data", (d) => { console.log(String(d)); process.exit(0); }), 300));'`;
      const both = await Promise.all([check(x, serve), check(y, serve)]);
      expect(both).toEqual([
        { exitCode: 0, output: "hello\n" },
        { exitCode: 0, output: "hello\n" },
      ]);
      await Promise.all([x.discard("test"), y.discard("test")]);
    });

    test("see the home of the draft, and what they write there is dropped with them", async () => {
      const user = join(bench.folder, "user");
      mkdirSync(join(user, ".cache/pip"), { recursive: true });
      for (const path of [".editorconfig", ".cache/pip/real"]) writeFileSync(join(user, path), "real\n");
      const draft = await open(usual());
      await run(draft, shell("echo tool > ~/tool; echo tool > ~/.cache/pip/tool"));
      expect(
        await check(
          draft,
          "cat ~/.editorconfig ~/tool ~/.cache/pip/*; echo x > ~/.editorconfig; echo x > ~/.cache/pip/real; echo x > ~/.cache/pip/check; rm ~/tool",
        ),
      ).toMatchObject({
        output: "real\ntool\nreal\ntool\n",
      });
      expect(
        await check(draft, "cat ~/.editorconfig ~/tool ~/.cache/pip/real; ls ~/.cache/pip/check ~/.picoclaw"),
      ).toMatchObject({
        exitCode: 2,
        output: expect.stringContaining("real\ntool\nreal\n"),
      });
      await run(draft, shell("cat ~/tool > seen"));
      await draft.commit();
      expect(bench.read("seen")).toBe("tool\n");
      const later = await bench.run([shell("cat ~/tool > kept")], { settings: usual() });
      expect([later.success, bench.read("kept")]).toEqual([true, "tool\n"]);
    });

    test("see a home of many folders, shut ones and large files among them", async () => {
      const user = join(bench.folder, "user");
      for (let i = 0; i < 60; i++) mkdirSync(join(user, `folder ${i}`));
      writeFileSync(join(user, "folder 7", "x"), "seven\n");
      mkdirSync(join(user, "shut"), { mode: 0o000 });
      writeFileSync(join(user, "large"), Buffer.alloc(2 * 1024 * 1024, "l"));
      symlinkSync("folder 7", join(user, "link"));
      const names = ["shut", "large", "link", ...Array.from({ length: 60 }, (_, i) => `folder ${i}`)];
      const draft = await open({ ...usual(), PICOCLAW_WORKER_HOME_ALLOW: names.join(",") });
      expect(
        await check(draft, "cat ~/link/x; wc -c < ~/large; ls ~ | wc -l; echo x > ~/folder\\ 8/y"),
      ).toEqual({
        exitCode: 0,
        output: "seven\n2097152\n63\n",
      });
      expect(existsSync(join(user, "folder 8", "y"))).toBe(false);
      await draft.discard("test");
    });

    test("end with everything that they left running", async () => {
      const draft = await open(OVERLAY);
      const marker = join(bench.folder, "user", "late");
      await check(draft, `(setsid sh -c 'sleep 2; echo x > ${marker}; echo x > a.txt' &) ; true`);
      expect(await check(draft, "cat a.txt; sleep 2.2; cat a.txt")).toMatchObject({ output: "one\none\n" });
      expect([bench.read("a.txt"), existsSync(marker)]).toEqual(["one\n", false]);
      await draft.discard("test");
    });

    test("find what the first run of the baseline built in ignored folders, or do without it", async () => {
      bench.git("init", "-q");
      bench.write(".gitignore", "/build/\n*.cache\n");
      bench.write("deep/src.txt", "source\n");
      bench.git("add", ".");
      const build =
        "mkdir -p build && echo built > build/out && echo c > deep/x.cache && echo t > tracked-new";
      const draft = await open(OVERLAY);
      expect(await check(draft, build, { over: "baseline" })).toMatchObject({ exitCode: 0 });
      expect(await check(draft, "cat build/out", { over: "baseline" })).toMatchObject({ output: "built\n" });
      await run(draft, edit("update", "deep/src.txt", "changed\n"));
      expect(await check(draft, "cat build/out deep/x.cache deep/src.txt; ls")).toMatchObject({
        output: "built\nc\nchanged\na.txt\nbuild\ndeep\n",
      });
      expect(await check(draft, "ls build", { withoutBuildLayer: true })).toMatchObject({ exitCode: 2 });
      await draft.commit();
      expect(bench.git("status", "--porcelain", "--ignored").includes("build")).toBe(false);
    });

    test.each([
      { own: true, name: "with" },
      { own: false, name: "without" },
    ])("find what the baseline compiled in the cache of Go, $name one of the user", async ({ own }) => {
      const cache = join(bench.folder, "user/.cache/go-build");
      if (own) mkdirSync(join(cache, "00"), { recursive: true });
      if (own) writeFileSync(join(cache, "00/user"), "user\n");
      const draft = await open(usual());
      const bare = { home: "bare" };
      const compile =
        "mkdir -p ~/.cache/go-build/00 && cd ~/.cache && echo made > go-build/00/made && echo other > other";
      await check(draft, compile, { over: "baseline", ...bare });
      await check(draft, "echo second > ~/.cache/go-build/00/second", { over: "baseline", ...bare });
      const seen = { output: own ? "made\nuser\n" : "made\n" };
      expect(await check(draft, "cd ~/.cache; cat go-build/00/*; ls other 2>/dev/null", bare)).toMatchObject(
        seen,
      );
      await check(draft, "echo forged > ~/.cache/go-build/00/made", bare);
      expect(await check(draft, "cat ~/.cache/go-build/00/*")).toMatchObject(seen);
      await draft.commit();
      const later = await bench.run([shell("cat ~/.cache/go-build/00/* > seen || true")], {
        settings: usual(),
      });
      expect([later.success, bench.read("seen")]).toEqual([true, own ? "user\n" : ""]);
    });

    test.each([".cache", ".ccache", ".cache/go-build"])(
      "move no folder of this machine to which a command linked ~/%s",
      async (place) => {
        const victim = join(bench.folder, "victim");
        mkdirSync(join(victim, "go-build"), { recursive: true });
        writeFileSync(join(victim, "go-build/x"), "user\n");
        const draft = await open(usual());
        const bare = { over: "baseline", home: "bare" };
        const link = `rm -rf ~/${place}; mkdir -p ~/${dirname(place)}; ln -s ${victim} ~/${place}; readlink ~/${place}`;
        expect(await check(draft, link, bare)).toMatchObject({ output: `${victim}\n` });
        expect(readFileSync(join(victim, "go-build/x"), "utf8")).toBe("user\n");
        expect(await check(draft, `readlink ~/${place}`, bare)).toMatchObject({ exitCode: 1 });
        await draft.discard("over");
        expect(readFileSync(join(victim, "go-build/x"), "utf8")).toBe("user\n");
      },
    );

    test("move no folder of this machine that a forged git lists behind a link", async () => {
      const victim = join(bench.folder, "victim");
      mkdirSync(join(victim, "out"), { recursive: true });
      const programs = join(bench.folder, "user/.local/bin");
      mkdirSync(programs, { recursive: true });
      const draft = await open({ ...usual(), PATH: `${programs}:${process.env.PATH}` });
      const forge = `ln -s ${victim} deep; cd ${programs}; printf '#!/bin/sh\\nprintf "deep/out\\\\0"' > git; chmod +x git; git`;
      const checked = await check(draft, forge, { over: "baseline", home: "bare" });
      expect([checked.exitCode, checked.output?.startsWith("deep/out")]).toEqual([0, true]);
      expect(readdirSync(victim)).toEqual(["out"]);
    });

    test("a baseline runs beside the draft's own commands", async () => {
      const draft = await open(OVERLAY);
      const order: string[] = [];
      const baseline = check(draft, "sleep 1; cat a.txt", { over: "baseline" }).then((ended) => {
        order.push("baseline");
        return ended;
      });
      await run(draft, edit("update", "a.txt", "1\n"), shell("cat a.txt"));
      order.push("attempt");
      expect(await baseline).toMatchObject({ output: "one\n" });
      expect(order).toEqual(["attempt", "baseline"]);
      await draft.commit();
      expect(readFileSync(bench.path("a.txt"), "utf8")).toBe("1\n");
    });

    test("whole folders that a draft removed or replaced are so for its checks", async () => {
      bench.write("lib/x/1", "1\n");
      bench.write("lib/y/2", "2\n");
      const draft = await open(OVERLAY);
      await run(draft, shell("rm -r lib/x && mkdir lib/x && echo n > lib/x/new && mv lib/y lib/z"));
      expect(await check(draft, "find lib -type f | sort | xargs tail -n +1")).toMatchObject({
        output: "==> lib/x/new <==\nn\n\n==> lib/z/2 <==\n2\n",
      });
      const listed = (path: string) => [...draft.files.list(path)].sort();
      expect([listed("lib"), listed("lib/x"), listed("lib/z")]).toEqual([["x", "z"], ["new"], ["2"]]);
      await draft.commit();
      expect([bench.read("lib/x/new"), bench.read("lib/z/2")]).toEqual(["n\n", "2\n"]);
    });
  });

describe("a draft on a machine whose sandbox does not start", () => {
  /** A bubblewrap that fails while the file exists. */
  function brokenBubblewrap(): Settings {
    const bin = join(bench.folder, "bin");
    mkdirSync(bin);
    const script = `#!/bin/sh\nif [ -e ${bin}/broken ]; then echo "bwrap: mount: no such overlay" >&2; exit 1; fi\nexec /usr/bin/bwrap "$@"\n`;
    writeFileSync(join(bin, "bwrap"), script, { mode: 0o755 });
    const PATH = `${bin}:${process.env.PATH}`;
    return { PATH, PICOCLAW_WORKER_TRANSACTION: "auto", PICOCLAW_WORKER_CONFINE: "off" };
  }

  test("is staged in a copy, as a job is", async () => {
    const settings = brokenBubblewrap();
    writeFileSync(join(bench.folder, "bin", "broken"), "");
    const draft = await open(settings);
    expect(await run(draft, shell("echo 1 > a.txt"))).toMatchObject({ about: "attempt" });
    expect(await draft.commit()).toMatchObject({ outcome: "committed", kind: "copy" });
    expect(bench.read("a.txt")).toBe("1\n");
  });

  if (requirePart("bwrap"))
    test("though it once did is refused, and the next one is staged in a copy", async () => {
      const settings = brokenBubblewrap();
      const first = await open(settings);
      await run(first, shell("echo 1 > a.txt"));
      expect(await first.commit()).toMatchObject({ kind: "overlay" });
      const second = await open(settings);
      writeFileSync(join(bench.folder, "bin", "broken"), "");
      expect(await run(second, shell("echo 2 > a.txt"))).toMatchObject({ status: "refused" });
      await second.discard("test");
      const third = await open(settings);
      await run(third, shell("echo 3 > a.txt"));
      expect(await third.commit()).toMatchObject({ outcome: "committed", kind: "copy" });
    });
});

if (requirePart("bwrap"))
  describe("a draft while the user works", () => {
    test("continues from what the user saved between two attempts", async () => {
      const draft = await open(OVERLAY);
      await run(draft, edit("create", "b.txt", "b\n"));
      bench.write("a.txt", "one\nuser\n");
      bench.write("mine.txt", "mine\n");
      await run(draft, shell("echo draft >> a.txt; rm mine.txt"));
      expect(await draft.commit()).toMatchObject({ outcome: "committed", conflicts: [] });
      expect([bench.read("a.txt"), existsSync(bench.path("mine.txt"))]).toEqual([
        "one\nuser\ndraft\n",
        false,
      ]);
    });

    test("is a conflict where the user saved what it had changed before", async () => {
      const draft = await open(OVERLAY);
      await run(draft, shell("echo draft >> a.txt"));
      bench.write("a.txt", "user\n");
      await run(draft, shell("echo more >> a.txt"));
      expect(await draft.commit()).toMatchObject({ outcome: "conflict", conflicts: [{ path: "a.txt" }] });
      expect(bench.read("a.txt")).toBe("user\n");
    });

    test("is a conflict where the user saved while the attempt ran", async () => {
      const draft = await open(OVERLAY);
      const running = draft.run({
        attempt: 1,
        work: { patch: JSON.stringify([shell("echo go; sleep 1; echo draft >> a.txt")]) },
        onOutput: () => bench.write("a.txt", "user\n"),
      });
      await running;
      expect(await draft.commit()).toMatchObject({ outcome: "conflict", conflicts: [{ path: "a.txt" }] });
      expect(bench.read("a.txt")).toBe("user\n");
    });
  });

if (requirePart("bwrap"))
  describe("a draft that ends", () => {
    test("ends the checks that still run over it, and over the baseline", async () => {
      for (const over of ["draft", "baseline"] as const) {
        const draft = await open(OVERLAY);
        const started = Promise.withResolvers<void>();
        const onOutput = () => started.resolve();
        const checking = draft.check({ commands: ["echo go; sleep 60"], over, timeoutSeconds: 90, onOutput });
        await started.promise;
        await draft.discard("test");
        expect(await checking).toMatchObject({ ok: false, why: "aborted" });
      }
    });

    test("by its commit does not wait for the baseline", async () => {
      const draft = await open(OVERLAY);
      await run(draft, edit("update", "a.txt", "1\n"));
      const checking = draft.check({ commands: ["sleep 60"], over: "baseline", timeoutSeconds: 90 });
      expect(await draft.commit()).toMatchObject({ outcome: "committed" });
      expect(await checking).toMatchObject({ ok: false, why: "aborted" });
    });

    test("because it filled the disk tells the cause, and nothing is applied", async () => {
      const draft = await open({ ...OVERLAY, PICOCLAW_WORKER_LIMITS_DISK: "1MiB" });
      const filling = run(draft, shell("head -c 40000000 /dev/urandom > big; sleep 20"));
      expect(filling).rejects.toThrow(/limit|disk|worker\.limits/i);
      await filling.catch(() => {});
      expect([existsSync(bench.path("big")), bench.read("a.txt")]).toEqual([false, "one\n"]);
      expect(draft.commit()).rejects.toThrow("has ended");
    });
  });

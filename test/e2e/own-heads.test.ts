/** The user's own agents as heads of a coder, through the real program: stubs that speak the streams of the real ones. */
import { afterEach, describe, expect } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./cli-kit.ts";
import { createHeadProject, type HeadCli } from "./head-kit.ts";
import { withChecks } from "./node-project.ts";

let cli: HeadCli;
afterEach(() => cli.remove());

const RED_THEN_GREEN = [
  { sh: ["printf '1\\n' > a.txt"], text: "first try" },
  { sh: ["printf 'two\\n' > a.txt"], text: "mended it" },
];

/** Processes whose command line or environment names the test's folder. */
function processesLeft(): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false;
    try {
      return ["cmdline", "environ"].some((file) =>
        readFileSync(`/proc/${pid}/${file}`, "utf8").includes(cli.folder),
      );
    } catch {
      return false;
    }
  });
}

const mountsLeft = () => readFileSync("/proc/self/mountinfo", "utf8").includes(cli.folder);

describe("one message for an agent", () => {
  withChecks("red is returned to the same session, green lands as one job, undo reverts it", async () => {
    cli = await createHeadProject({ turns: RED_THEN_GREEN });
    const before = cli.tree();
    const ran = await cli.send("/head claude-code change a.txt", {}, ["--events"]);
    expect([ran.code, ran.err]).toEqual([0, ""]);
    expect(cli.read("a.txt")).toBe("two\n");
    const events = ran.out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events.filter(({ type }) => type === "job-command").map(({ command }) => command)).toEqual([
      "shell_command run printf '1\\n' > a.txt",
      "shell_command run printf 'two\\n' > a.txt",
    ]);
    const reply = events.at(-1);
    expect(reply.text).toStartWith("Applied: 1 file, npm test 1 passed\n\n[Plan]\nfirst try\n→ mended it\n");
    expect(reply.jobs).toHaveLength(1);
    expect(reply.usage).toEqual({ input_tokens: 200, output_tokens: 20, cost_usd: 0.02 });
    const [first, second] = cli.asked;
    const session = /--session-id (\S+)/.exec(String(first?.headers["x-args"]))?.[1];
    expect(String(second?.headers["x-args"])).toContain(`--resume ${session} `);
    expect(second?.body).toContain("Passed before; now they fail, are skipped or are missing:");
    expect(cli.asked.map(({ headers }) => headers["x-api-key"])).toEqual(
      Array(2).fill(cli.env.ANTHROPIC_API_KEY),
    );
    expect((await cli.send("/undo")).code).toBe(0);
    expect(cli.tree()).toEqual(before);
  });

  withChecks.each([
    [
      "codex-cli",
      "codex",
      { headers: "authorization", key: "Bearer real-codex-key-0123456789", resumed: /resume 0199-stub-0 -$/ },
    ],
    [
      "gemini-cli",
      "gemini",
      { headers: "x-goog-api-key", key: "real-gemini-key-0123456789", resumed: /--resume gemini-stub-0$/ },
    ],
  ] as const)("%s does the same in its own words", async (name, stub, wanted) => {
    cli = await createHeadProject({ turns: RED_THEN_GREEN, stubs: [stub] });
    const file = join(cli.home, "config.yaml");
    if (stub === "codex") {
      // The address of codex's server is in its own settings.
      mkdirSync(join(cli.folder, "user/.codex"), { recursive: true });
      const provider = `model_provider = "mine"\nnotify = ["evil"]\n[model_providers.mine]\nname = "mine"\nbase_url = "${cli.address}/v1"\nwire_api = "responses"\n[mcp_servers.x]\ncommand = "evil"\n`;
      writeFileSync(join(cli.folder, "user/.codex/config.toml"), provider);
    }
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace("roles:\n", `roles:\n  coder: { head: ${name} }\n`),
    );
    const ran = await cli.send("/code change a.txt");
    expect(ran.out).toStartWith("Applied: 1 file, npm test 1 passed\n\n[Plan]\nfirst try\n→ mended it\n");
    expect(cli.asked.map(({ headers }) => headers[wanted.headers])).toEqual([wanted.key, wanted.key]);
    expect(String(cli.asked[1]?.headers["x-args"])).toMatch(wanted.resumed);
    if (stub === "codex") expect(cli.headHome()[".codex/config.toml"]).not.toContain("evil");
  });

  withChecks("no change: its last words are the reply, and no job is listed", async () => {
    cli = await createHeadProject({ turns: [{ text: "It is 42, see a.txt." }] });
    const ran = await cli.send("/head claude what is it?");
    expect([ran.out.trim(), ran.code]).toEqual(["It is 42, see a.txt.\n\nNothing was changed.", 0]);
  });

  withChecks(
    "the next message of the chat continues in its session; another chat and /new do not",
    async () => {
      cli = await createHeadProject({ turns: [{ text: "yes" }] });
      await cli.send("/head claude-code first");
      await cli.send("/head claude-code second");
      await cli.send("/head claude-code elsewhere", {}, ["--name", "other"]);
      await cli.send("/new", {}, ["--name", "other"]);
      await cli.send("/head claude-code anew", {}, ["--name", "other"]);
      const sessions = cli.asked.map(
        ({ headers }) => /--(?:session-id|resume) \S+/.exec(String(headers["x-args"]))?.[0],
      );
      const [first = "", second = "", other = "", anew = ""] = sessions;
      expect(second).toBe(first.replace("--session-id", "--resume"));
      expect([other, anew].map((one) => one.startsWith("--session-id"))).toEqual([true, true]);
      expect(new Set([first, other, anew]).size).toBe(3);
      expect(JSON.parse(cli.asked[1]?.body ?? "").prompt).toBe("second");
    },
  );

  withChecks("a continued session learns what the last message changed", async () => {
    cli = await createHeadProject({
      turns: [{ sh: ["printf 'two\\n' > a.txt"], text: "done" }, { text: "yes" }],
    });
    await cli.send("/head claude change a.txt");
    await cli.send("/undo");
    await cli.send("/head claude is it two?");
    expect(JSON.parse(cli.asked[1]?.body ?? "").prompt).toMatch(
      /^The last change in this conversation, by you or by another agent:\n#1: Done, then UNDONE by the user; the files are as before\. It had modified a\.txt\.\n\nis it two\?$/,
    );
  });

  withChecks("a lost session is started again with the request", async () => {
    cli = await createHeadProject({ turns: [{ text: "yes" }] });
    await cli.send("/head claude-code first");
    const known = Object.keys(cli.headHome()).find((path) => path.includes("session-")) ?? "";
    await cli.send("/head claude-code keep");
    cli.plays([{ sh: [`rm ~/${known}`], text: "gone" }]);
    await cli.send("/head claude-code forget it");
    cli.plays([{ text: "here again" }]);
    const ran = await cli.send("/head claude-code are you there?");
    expect(ran.out).toContain("here again");
    expect(String(cli.asked.at(-1)?.headers["x-args"])).toContain("--session-id");
    expect(cli.asked.at(-1)?.body).toContain("# Request\\nare you there?");
  });

  withChecks(
    "any agent that speaks ACP: no files or terminals of ours, leave is given, its plan is shown",
    async () => {
      cli = await createHeadProject({
        turns: [{ sh: ["printf 'acp\\n' > a.txt"], text: "by protocol" }, { text: "still here" }],
        stubs: ["agent"],
        config: "head: { command: [agent, --acp] }\n",
      });
      const ran = await cli.send("/head acp change a.txt", {}, ["--events"]);
      expect(cli.read("a.txt")).toBe("acp\n");
      expect(ran.out).toContain("✓ look\\n→ write");
      const home = cli.headHome();
      expect(JSON.parse(home[".stub/capabilities"] ?? "")).toEqual({
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
      });
      expect(JSON.parse(home[".stub/permission"] ?? "")).toEqual({
        outcome: { outcome: "selected", optionId: "yes" },
      });
      expect(home[".stub/fs-answer"]).toContain("not offered");
      expect(existsSync(join(cli.workspace, "by-client.txt"))).toBe(false);
      expect((await cli.send("/head acp and now?")).out.trim()).toBe("still here\n\nNothing was changed.");
      expect(cli.headHome()[".stub/sessions"]).toBe("stub-session\n");
    },
  );
});

describe("a head that cannot work says why, before any draft", () => {
  const jobs = () => cli.run(["jobs"], { env: cli.env }).out;

  withChecks("not installed, no key, a person's login that is not to be used, dry mode", async () => {
    cli = await createHeadProject({ turns: [{}], stubs: ["claude", "gemini"] });
    expect((await cli.send("/head codex-cli x")).out).toContain("there is no `codex` on the PATH");
    const none = { ANTHROPIC_API_KEY: "", GEMINI_API_KEY: "" };
    expect((await cli.send("/head claude-code x", none)).out).toContain(
      "Set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN",
    );
    const user = join(cli.folder, "user");
    mkdirSync(join(user, ".claude"));
    mkdirSync(join(user, ".gemini"));
    const login = {
      claudeAiOauth: { accessToken: "real-person", refreshToken: "r", expiresAt: Date.now() + 9e6 },
    };
    writeFileSync(join(user, ".claude/.credentials.json"), JSON.stringify(login));
    writeFileSync(join(user, ".gemini/oauth_creds.json"), "{}");
    expect((await cli.send("/head claude-code x", none)).out).toContain("only with `head.login: file`");
    expect((await cli.send("/head gemini-cli x", none)).out).toContain(
      "Google's terms do not let another program",
    );
    const japanese = await cli.send("/head gemini-cli x", { ...none, PICOCLAW_LOCALE: "ja" });
    expect(japanese.out).toContain("Google の規約は");
    await cli.send("/dry on");
    expect((await cli.send("/head claude-code x")).out).toContain("Dry mode: claude-code is not started");
    expect([cli.asked, jobs()]).toEqual([[], cli.run(["jobs"], { env: cli.env }).out]);
    expect(jobs()).not.toContain("job_");
    const list = await cli.send("/head");
    expect(list.out).toContain("claude-code: ready");
    expect(list.out).toContain("codex-cli: codex-cli is not installed on this machine");
  });

  withChecks(
    "a person's login, where it is permitted, is read outside: its file stays as it was",
    async () => {
      cli = await createHeadProject({
        turns: [{ sh: ["env; cat ~/.claude/.credentials.json || true"], text: "hello" }],
        config: "head: { login: file }\n",
      });
      const none = { ANTHROPIC_API_KEY: "" };
      const file = join(cli.folder, "user/.claude/.credentials.json");
      mkdirSync(join(cli.folder, "user/.claude"));
      const write = (expiresAt: number) =>
        writeFileSync(
          file,
          JSON.stringify({
            claudeAiOauth: { accessToken: "real-person", refreshToken: "real-r", expiresAt },
          }),
        );
      write(Date.now() + 9e6);
      const before = [readFileSync(file, "utf8"), statSync(file).mtimeMs];
      expect((await cli.send("/head claude-code x", none)).out.trim()).toBe("hello\n\nNothing was changed.");
      expect(cli.asked.map(({ headers }) => headers["x-api-key"])).toEqual(["real-person"]);
      expect([readFileSync(file, "utf8"), statSync(file).mtimeMs]).toEqual(before);
      write(Date.now() - 1);
      const ran = await cli.send("/head claude-code x", none);
      expect(ran.out).toContain("start `claude` once yourself");
      expect(cli.asked).toHaveLength(1);
    },
  );

  withChecks("a wrong key is reported at once, and is not a success", async () => {
    cli = await createHeadProject({ turns: [{}] });
    const ran = await cli.send("/head claude-code x", { ANTHROPIC_API_KEY: "wrong" });
    expect(ran.out).toContain("claude-code was refused by its model's server");
    expect(ran.code).toBe(3);
  });
});

describe("what a head may not", () => {
  withChecks(
    "neither checks nor later jobs see its home or a key; commands see the stand-in alone",
    async () => {
      cli = await createHeadProject({
        turns: [
          {
            sh: ["env > seen.txt; cat /proc/*/environ >> seen.txt 2>/dev/null; printf 'ok\\n' > a.txt"],
            text: "looked",
          },
        ],
        check: "sh -c 'env; ls -a ~; cat /proc/*/environ; curl -s http://127.0.0.1:1 || true; node --test'",
      });
      const ran = await cli.send("/head claude-code look", {}, ["--events"]);
      expect(ran.code).toBe(0);
      const seen = cli.read("seen.txt");
      expect(seen).toMatch(/ANTHROPIC_API_KEY=picoclaw-/);
      expect(seen).not.toContain("real-claude");
      const checked = ran.out
        .split("\n")
        .filter((line) => line.includes("job-output"))
        .join("\n");
      expect(checked).toContain("HOME=");
      expect(checked).not.toMatch(/picoclaw-[0-9a-f]{32}|real-claude|\.stub/);
      const later = cli.apply([{ type: "shell_command", action: "run", target: "ls -a ~ > home.txt" }], [], {
        env: cli.env,
      });
      expect(later.code).toBe(0);
      expect(cli.read("home.txt")).not.toContain(".stub");
    },
  );

  withChecks(
    "hooks and protected files are restored and reported to it; outside is read-only; the rest lands",
    async () => {
      cli = await createHeadProject({
        files: { ".env": "A=1\n", "a.txt": "one\n", "test/a.test.mjs": "" },
        turns: [
          {
            sh: [
              "echo A=2 > .env; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; echo x > ../outside.txt; printf 'good\\n' > a.txt",
            ],
            text: "done",
          },
          { text: "understood" },
        ],
      });
      const ran = await cli.send("/head claude-code go");
      expect(cli.read("a.txt")).toBe("good\n");
      expect(cli.read(".env")).toBe("A=1\n");
      expect(existsSync(join(cli.workspace, ".git/hooks/pre-commit"))).toBe(false);
      expect(existsSync(join(cli.folder, "outside.txt"))).toBe(false);
      expect(cli.asked[1]?.body).toContain(".env");
      expect(cli.asked[1]?.body).toContain("pre-commit");
      expect(ran.out).toContain("Applied: 1 file");
    },
  );

  withChecks("settings of the repository do not hold in a folder that is not trusted", async () => {
    cli = await createHeadProject({ turns: [{ text: "hi" }] });
    await cli.send("/head claude-code x");
    cli.run(["trust"], { env: cli.env });
    await cli.send("/head claude-code x");
    expect(
      cli.asked.map(({ headers }) => /--setting-sources (\S+)/.exec(String(headers["x-args"]))?.[1]),
    ).toEqual(["user", "user,project,local"]);
  });

  withChecks("without a network its own way is open all the same", async () => {
    cli = await createHeadProject({
      turns: [{ sh: ["curl -s -m 2 http://127.0.0.1:1 ; printf 'net\\n' > a.txt"], text: "done" }],
      config: "worker: { network: { mode: 'off' } }\n",
    });
    const ran = await cli.send("/head claude-code x");
    expect(ran.out).toStartWith("Applied: 1 file");
    expect(cli.asked).toHaveLength(1);
  });
});

describe("a head that does not behave", () => {
  withChecks(
    "silent, too slow, without end, always asking: ended and reported, and nothing is left",
    async () => {
      cli = await createHeadProject({
        turns: [{ sh: ["printf 'half\\n' > a.txt"], hangs: true }],
        config: "head: { silence: 2, command: [agent] }\n",
        stubs: ["claude", "agent"],
      });
      const silent = await cli.send("/head claude-code x");
      expect(silent.out).toContain("it said nothing for 2 seconds");
      expect([silent.code, cli.read("a.txt")]).toEqual([1, "one\n"]);
      expect(silent.out).toContain("picoclaw apply --job");
      const config = join(cli.home, "config.yaml");
      writeFileSync(config, readFileSync(config, "utf8").replace("silence: 2,", "silence: 250,"));
      cli.plays([{ floods: 300 * 1024 ** 2 }]);
      expect((await cli.send("/head claude-code x")).out).toContain("its output did not stop");
      cli.plays([{ asks: 100_000 }]);
      expect((await cli.send("/head acp x")).out).toContain("it asked for permission 500 times");
      expect([processesLeft(), mountsLeft()]).toEqual([[], false]);
    },
  );

  withChecks("forks and killing its parent: everything ends with the turn", async () => {
    cli = await createHeadProject({
      turns: [
        { sh: ["for i in 1 2 3; do (setsid sleep 600 &) ; done; kill -9 1; kill -9 $PPID"] },
        { sh: ["printf 'after\\n' > a.txt"] },
      ],
    });
    const ran = await cli.send("/head claude-code x");
    expect(ran.out).toContain("claude-code ended with an error: SIGKILL");
    expect((await cli.send("/head claude-code y")).out).toStartWith("Applied: 1 file");
    expect(processesLeft()).toEqual([]);
  });

  withChecks(
    "killed with PicoClaw at any point: the workspace is as it was, and the next message works",
    async () => {
      cli = await createHeadProject({
        turns: [{ sh: ["printf 'half\\n' > a.txt; touch ~/.stub/here; sleep 600"] }],
      });
      const before = cli.tree();
      for (const delayMs of [0, 300, 700]) {
        const child = cli.start(["chat", "--", "/head claude-code x"], cli.env);
        const ended = new Promise((resolve) => child.once("close", resolve));
        if (delayMs > 0) await until(() => cli.asked.length > 0 || child.exitCode !== null);
        await Bun.sleep(delayMs);
        child.kill("SIGKILL");
        await ended;
        await until(() => processesLeft().length === 0);
        expect([cli.tree(), mountsLeft()]).toEqual([before, false]);
        cli.asked.splice(0);
      }
      cli.plays([{ sh: ["printf 'whole\\n' > a.txt"], text: "done" }]);
      expect((await cli.send("/head claude-code y")).out).toStartWith("Applied: 1 file");
      expect(readdirSync(cli.folder).filter((name) => name.startsWith("picoclaw-keys-"))).toEqual([]);
    },
  );

  withChecks(
    "stopped in the middle of a command: ended at once, nothing changed, its session continues",
    async () => {
      cli = await createHeadProject({
        turns: [{ sh: ["printf 'half\\n' > a.txt; sleep 600"] }, { text: "I was stopped" }],
      });
      const running = cli.send("/head claude-code x");
      await until(() => cli.asked.length > 0);
      const began = performance.now();
      expect((await cli.send("/stop")).code).toBe(0);
      await running;
      expect(performance.now() - began).toBeLessThan(200_000);
      expect([cli.read("a.txt"), processesLeft()]).toEqual(["one\n", []]);
      expect((await cli.send("/head claude-code y")).out.trim()).toBe(
        "I was stopped\n\nNothing was changed.",
      );
      expect(String(cli.asked[1]?.headers["x-args"])).toContain("--resume");
    },
  );

  withChecks("a file that was saved meanwhile is merged or reported, and never overwritten", async () => {
    const lines = ["a", "b", "c", "d", "e", "f", "g", "h"];
    cli = await createHeadProject({
      files: { "a.txt": `${lines.join("\n")}\n`, "test/a.test.mjs": "" },
      turns: [{ sh: ["sed -i 's/^h$/H/' a.txt; sleep 3"], text: "did it" }],
    });
    const running = cli.send("/head claude-code x");
    await until(() => cli.asked.length > 0);
    cli.write("a.txt", `A\n${lines.slice(1).join("\n")}\n`);
    const ran = await running;
    const saved = cli.read("a.txt");
    expect(saved).toStartWith("A\n");
    expect(ran.out).toMatch(/^(Applied|Not applied)/);
    if (ran.out.startsWith("Applied")) expect(saved).toEndWith("\nH\n");
  });

  withChecks("more than the disk may hold: ended, nothing changed, and the next message works", async () => {
    cli = await createHeadProject({
      turns: [
        {
          sh: [
            "printf 'half\\n' > a.txt; dd if=/dev/zero of=$HOME/big bs=1M count=200 2>/dev/null; sleep 30",
          ],
        },
      ],
      config: "worker: { limits: { disk: 40MB } }\n",
    });
    const ran = await cli.send("/head claude-code x");
    expect(ran.out).toContain("worker.limits.disk");
    expect([cli.read("a.txt"), processesLeft()]).toEqual(["one\n", []]);
    cli.plays([{ sh: ["printf 'small\\n' > a.txt"] }]);
    expect((await cli.send("/head claude-code y")).out).toStartWith("Applied: 1 file");
  });

  withChecks("four chats at once in one checkout: each has its own session, and all land", async () => {
    cli = await createHeadProject({
      turns: [{ sh: ["echo x > made-$(cat /proc/sys/kernel/random/uuid).txt; sleep 1"], text: "made one" }],
    });
    const names = ["a", "b", "c", "d"];
    const ran = await Promise.all(names.map((name) => cli.send("/head claude-code x", {}, ["--name", name])));
    expect(ran.map(({ out }) => out.split(",")[0])).toEqual(names.map(() => "Applied: 1 file"));
    expect(Object.keys(cli.tree()).filter((path) => path.startsWith("made-"))).toHaveLength(4);
    expect(new Set(cli.asked.map(({ headers }) => String(headers["x-args"]))).size).toBe(4);
    expect(processesLeft()).toEqual([]);
  });
});

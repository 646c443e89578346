/** What a command reaches, for each place of a `.git` above the workspace and each surface that runs commands. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createServer } from "../adapters/web/web-kit.ts";
import { type Cli, createCli, PROGRAM, type Ran, shell } from "../e2e/cli-kit.ts";
import { createHeadProject } from "../e2e/head-kit.ts";
import { requirePart } from "../require.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const SECRET = "do-not-read-me-9c1e";
/** Written backwards, so that an echoed command line is no reading. */
const READ = [...SECRET].reverse().join("");

/** What a user keeps in a home: read, overwritten, added to. */
const LINE = [
  "rev <../.ssh/id_key",
  "echo x >>../.bashrc",
  "echo x >../.ssh/authorized_keys",
  "mkdir -p ../.config/autostart ../bin",
  "echo x >../.config/autostart/x.desktop",
  "echo x >../bin/ls",
  "echo x >inside",
].join("; ");

const inFolder = (path: string) => join(cli.folder, path);
function put(path: string, text: string): void {
  mkdirSync(dirname(inFolder(path)), { recursive: true });
  writeFileSync(inFolder(path), text);
}

/** A repository at `top` that tracks the workspace's file; `top/proj` is the workspace. */
function place(top: "home" | "srv", { gitFile = false } = {}): string {
  put(`${top}/.ssh/id_key`, `${SECRET}\n`);
  put(`${top}/.bashrc`, "old\n");
  put(`${top}/proj/tracked`, "x\n");
  const git = (...args: string[]) =>
    spawnSync("git", args, { cwd: inFolder(top), env: cli.environment(), encoding: "utf8" });
  expect(git("init", "-q", ...(gitFile ? ["--separate-git-dir", inFolder(`${top}/.cfg`)] : [])).status).toBe(
    0,
  );
  git("add", "proj", ".bashrc");
  return inFolder(`${top}/proj`);
}

type Surface = (cwd: string, env: Readonly<Record<string, string>>) => Ran | Promise<Ran>;
const SURFACES: Readonly<Record<string, Surface>> = {
  apply: (cwd, env) => cli.apply([shell(LINE)], [], { cwd, env }),
  preview: (cwd, env) => cli.apply([shell(LINE)], ["--preview"], { cwd, env }),
  tool: (cwd, env) => cli.run(["tool", "execute_command", JSON.stringify({ command: LINE })], { cwd, env }),
  mcp: (cwd, env) => {
    const call = { name: "execute_command", arguments: { command: LINE } };
    const hello = {
      protocolVersion: "2025-03-26",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    };
    const lines = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: hello },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: call },
    ];
    const server = spawn(PROGRAM, ["mcp"], {
      cwd,
      env: cli.environment(env),
      stdio: ["pipe", "pipe", "ignore"],
    });
    server.stdin.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const { promise, resolve } = Promise.withResolvers<Ran>();
    let out = "";
    server.stdout.on("data", (bytes: Buffer) => {
      out += bytes.toString();
      if (/"id":2\b/.test(out)) server.stdin.end();
    });
    server.once("close", (code) => resolve({ code, out, err: "" }));
    return promise;
  },
  chat: (cwd, env) => {
    const text = `## Plan\nrun\n\n## Patch\n\`\`\`bash\n${LINE}\n\`\`\``;
    put("script.yaml", JSON.stringify([{ text }, { text }, { text }]));
    const role = { provider: "scripted", model: "x" };
    const providers = { scripted: { type: "scripted", script: inFolder("script.yaml") } };
    put(
      "home2/config.yaml",
      JSON.stringify({ providers, roles: { coder3: role, chat: role, worker: role } }),
    );
    const home = { PICOCLAW_HOME: inFolder("home2") };
    return cli.run(["chat", "/code3 run it"], { cwd, env: { ...env, ...home } });
  },
  ps: (cwd, env) => {
    const ran = cli.run(["ps", "start", "--name", "one", "--", "sh", "-c", LINE], { cwd, env });
    const log = cli.run(["ps", "log", "one"], { cwd, env });
    cli.run(["ps", "clear"], { cwd, env });
    return { ...ran, out: ran.out + log.out };
  },
  head: async (cwd, env) => {
    const heads = await createHeadProject({ turns: [{ sh: [LINE], text: "done" }] });
    try {
      const ran = await heads.runAsync(["chat", "--workspace", cwd, "--", "/head claude-code run it"], {
        ...heads.env,
        ...env,
        PICOCLAW_HOME: heads.home,
      });
      const prompts = heads.asked.map(({ body }) => body).join("");
      return { ...ran, out: ran.out + prompts };
    } finally {
      await heads.remove();
    }
  },
  serve: async (cwd, { PICOCLAW_HOME: _, ...env }) => {
    const text = `## Plan\nrun\n\n## Patch\n\`\`\`bash\n${LINE}\n\`\`\``;
    const server = await createServer({
      script: [{ text }],
      args: ["--workspace", cwd],
      env,
    });
    try {
      const visitor = server.token("--user", "u", "--role", "user", "--scope", "read,chat");
      const headers = { authorization: `Bearer ${visitor}` };
      const ask = async (path: string, body?: object) => {
        const method = body === undefined ? "GET" : "POST";
        const answered = await fetch(`${server.url}/api/v1/${path}`, {
          method,
          headers,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        return (await answered.json()) as {
          message_id: string;
          state: string;
          reply: { text: string } | null;
        };
      };
      const message = await ask("messages", { chat: "c", text: "/code3 run it", wait: 25 });
      return { code: 0, out: JSON.stringify(message), err: server.errors() };
    } finally {
      await server.close();
    }
  },
};

/** What of the folder above was read or changed. */
function reached(top: string, { out, err }: Ran) {
  const look = (path: string) => spawnSync("cat", [inFolder(`${top}/${path}`)], { encoding: "utf8" }).stdout;
  return {
    read: `${out}${err}`.includes(READ),
    changed: [".ssh/authorized_keys", ".config/autostart/x.desktop", "bin/ls"].filter(
      (path) => look(path) !== "",
    ),
    bashrc: look(".bashrc"),
  };
}
const NOTHING = { read: false, changed: [], bashrc: "old\n" };

const STAGED = ["overlay", "copy"];
describe.if(process.platform === "linux" && requirePart("bwrap") && requirePart("git"))(
  "a home that is a repository",
  () => {
    const rows = STAGED.flatMap((staged) =>
      Object.keys(SURFACES)
        // A head needs an overlay.
        .filter((surface) => surface !== "head" || staged === "overlay")
        .map((surface) => [surface, staged] as const),
    );
    test.each(rows)(
      "is neither read nor changed by %s in a folder of it, staged as %s",
      async (surface, staged) => {
        const cwd = place("home");
        const env = {
          HOME: inFolder("home"),
          PICOCLAW_HOME: inFolder("own"),
          PICOCLAW_WORKER_TRANSACTION: staged,
        };
        const ran = await (SURFACES[surface] as Surface)(cwd, env);
        // The command ran: it wrote in the workspace, or its preview says so.
        const wrote = existsSync(join(cwd, "inside")) || /^ +A inside$/m.test(ran.out);
        expect([wrote, reached("home", ran)]).toEqual([true, NOTHING]);
      },
    );

    test.each(STAGED)(
      "that is a link to a separate git folder is not either, staged as %s, and the first job says why",
      (staged) => {
        const cwd = place("home", { gitFile: true });
        const env = {
          HOME: inFolder("home"),
          PICOCLAW_HOME: inFolder("own"),
          PICOCLAW_WORKER_TRANSACTION: staged,
        };
        const first = cli.apply([shell(LINE)], [], { cwd, env });
        const second = cli.apply([shell(LINE)], [], { cwd, env });
        expect([reached("home", first), reached("home", second)]).toEqual([NOTHING, NOTHING]);
        const sentence = `Commands work in this folder alone, without the git repository above it (${inFolder("home")}): its root is a home, or holds one.`;
        const counts = [first, second, cli.run(["doctor"], { cwd, env })].map(
          ({ out }) => out.split(sentence).length - 1,
        );
        expect(counts).toEqual([1, 0, 1]);
      },
    );

    test.each(STAGED)(
      "does not shut a monorepo: its package reaches the repository, staged as %s",
      (staged) => {
        const cwd = place("srv");
        // The home of this test lies elsewhere: the repository is above no home.
        const env = { PICOCLAW_WORKER_TRANSACTION: staged };
        const ran = cli.apply([shell("echo new >../.bashrc; git rev-parse --show-toplevel >top")], [], {
          cwd,
          env,
        });
        expect([ran.code, reached("srv", ran).bashrc]).toEqual([0, "new\n"]);
        expect(ran.out).not.toContain("Commands work in this folder alone");
        expect(cli.run(["undo"], { cwd, env }).code).toBe(0);
        expect(reached("srv", ran).bashrc).toBe("old\n");
      },
    );

    test("is no repository for the tool that asks git, nor is one that a .git of the files names", () => {
      const cwd = place("home");
      const env = { HOME: inFolder("home"), PICOCLAW_HOME: inFolder("own") };
      const code = () => {
        const { out } = cli.run(["tool", "git_status_summary", "{}"], { cwd, env });
        return (JSON.parse(out) as { error?: { code: string } }).error?.code;
      };
      expect(code()).toBe("NOT_A_REPOSITORY");
      put("home/proj/.git", `gitdir: ${inFolder("home/.git")}\n`);
      expect(code()).toBe("NOT_A_REPOSITORY");
      const branch = `git branch planted; echo x >${inFolder("home/.git/planted")}; echo x >inside`;
      cli.apply([shell(branch)], [], { cwd, env });
      const found = ["home/.git/planted", "home/proj/inside"].map((path) => existsSync(inFolder(path)));
      expect(found).toEqual([false, true]);
    });

    test.each(STAGED)("is no repository for the job's git, staged as %s", (staged) => {
      const cwd = place("home");
      const env = {
        HOME: inFolder("home"),
        PICOCLAW_HOME: inFolder("own"),
        PICOCLAW_WORKER_TRANSACTION: staged,
      };
      const off = { ...env, PICOCLAW_WORKER_CONFINE: "off" };
      for (const more of [env, off]) {
        const ran = cli.apply([shell("git rev-parse --show-toplevel || echo none >none")], [], {
          cwd,
          env: more,
        });
        expect([ran.code, spawnSync("cat", [join(cwd, "none")], { encoding: "utf8" }).stdout]).toEqual([
          0,
          "none\n",
        ]);
      }
    });
  },
);

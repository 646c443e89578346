import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { create, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { backwards, CONFINE_OFF, createTarget, type Target } from "./hostile-kit.ts";

const SECRET = "do-not-read-me-9c1e";

/** Things of a home that no list of secrets would name. */
const HIDDEN = [
  ".bashrc",
  ".profile",
  ".cache/huggingface/token",
  ".kaggle/kaggle.json",
  ".config/some-new-tool/auth.toml",
  ".cargo/credentials.toml",
  ".m2/settings.xml",
  "projects/other/.env",
  "Documents/letter.txt",
] as const;

/** Settings of tools as people have them; in each, one line is worth keeping. */
const SETTINGS_WITH_SECRETS: Readonly<Record<string, string>> = {
  ".bundle/config": `---\nBUNDLE_GEMS__EXAMPLE__COM: "user:${SECRET}"\nBUNDLE_JOBS: "kept-setting"\nBUNDLE_RUBYGEMS__PKG__GITHUB__COM: >-\n  ${SECRET}\n`,
  ".yarnrc.yml": `npmRegistryServer: "https://kept-setting.example"\nnpmAuthIdent: "user:${SECRET}"\nnpmRegistries:\n  "//r.example":\n    npmAuthIdent: >-\n      user:${SECRET}\nnpmScopes: {a: {npmAuthToken: ${SECRET}}}\n`,
  ".yarnrc": `registry "https://kept-setting.example"\n"//r.example/:_authToken" "${SECRET}"\n`,
  ".condarc": `channels:\n  - https://conda.example/t/${SECRET}/private\n  - kept-setting\nproxy_servers:\n  http: http://u:${SECRET}@proxy:8080\n`,
  ".npmrc": `key="-----BEGIN PRIVATE KEY-----\\n${SECRET}\\n-----END PRIVATE KEY-----"\n//r.example/:key="-----BEGIN RSA PRIVATE KEY-----\n${SECRET}\n-----END RSA PRIVATE KEY-----"\nproxy=user:${SECRET}@proxy:8080\nregistry=https://kept-setting/\n_auth=${SECRET}\nregistry2=https://r.example/?private_token=${SECRET}\n`,
  ".pip/pip.conf": `[global]\nindex-url =\n    https://kept-setting/simple\nextra-index-url = https://ok.example\n    https://u:${SECRET}@r.example/simple\npassword = ${SECRET}\npassword =\n    ${SECRET}\nproxy = user:${SECRET}@proxy:3128\nmachine r.example login me password ${SECRET}\n`,
  ".cargo/config.toml": `[registries]\nmine = { index = "sparse+https://r.example", token = "${SECRET}" }\n[build]\ntarget = "kept-setting"\n[http]\nproxy = "user:${SECRET}@proxy:1"\n`,
  ".bunfig.toml": `[install]\nregistry = { url = "https://r.example", password = "${SECRET}" }\n[test]\nroot = "kept-setting"\n`,
  ".gemrc": `---\n:sources:\n- https://${SECRET}@gems.example/\n- https://kept-setting/\n:rubygems_api_key: ${SECRET}\n`,
  ".config/ccache/ccache.conf": `remote_storage = http://c.example|bearer-token=${SECRET}\nmax_size = kept-setting\n`,
  ".config/go/env": `GOPROXY=https://u:${SECRET}@go.example\nGOFLAGS=kept-setting\n`,
  ".config/pypoetry/config.toml": `[http-basic.mine]\nusername = "u"\npassword = """\n${SECRET}"""\n[virtualenvs]\npath = "kept-setting"\n`,
};

let target: Target;
const inHome = (path: string) => join(target.user, path);

/** A program of the home, as a version manager lays it out. */
function program(path: string, says: string): void {
  target.put(inHome(path), `#!/bin/sh\necho ${says} "$@"\n`);
  chmodSync(inHome(path), 0o755);
}

/** The home of this user as the system's list of accounts has it. */
function accountHome(): string {
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n");
  const own = accounts.map((line) => line.split(":")).find(([, , uid]) => uid === String(process.getuid?.()));
  return own?.[5] ?? "";
}

describe.if(process.platform === "linux" && requirePart("bwrap"))("of the home a job's command", () => {
  beforeAll(() => {
    target = createTarget();
    for (const path of HIDDEN) target.put(inHome(path), `export KEY=${SECRET}\n`);
  });
  afterAll(() => target.remove());

  test("reads nothing that tools do not need, under any name", () => {
    const lines = HIDDEN.map((path) => `rev < ~/${path}`);
    for (const { success, said } of target.attempt(lines)) {
      expect(success).toBe(false);
      expect(said).not.toContain(backwards(SECRET));
    }
    const open = target.attempt(lines, { env: CONFINE_OFF });
    expect(open.filter(({ said }) => said.includes(backwards(SECRET)))).toHaveLength(lines.length);
  });

  test("reads nothing that appears while it runs", async () => {
    const late = `sleep 0.5; echo ${SECRET} > '${inHome("late")}'`;
    const writer = Bun.spawn(["sh", "-c", late]);
    const look = "for i in $(seq 15); do rev < ~/late 2>/dev/null; sleep 0.1; done; true";
    expect(target.try(look).said).not.toContain(backwards(SECRET));
    await writer.exited;
    expect(readFileSync(inHome("late"), "utf8")).toContain(SECRET);
    expect(target.try("ls -A ~").said).not.toContain("late");
  });

  test("reads no home of another user", () => {
    const neighbour = join(target.folder, "neighbour");
    target.put(join(neighbour, "notes"), `${SECRET}\n`);
    expect(target.try(`rev < '${neighbour}/notes'; true`).said).not.toContain(backwards(SECRET));
    // The tools of one's own account are shown, also where HOME leads elsewhere, and the program itself.
    const own = [target.folder, accountHome(), join(import.meta.dir, "../..")];
    const names = target.try("ls -A /home 2>/dev/null; true").said.trim().split("\n");
    const others = names.filter(
      (name) => name !== "" && !own.some((path) => `${path}/`.startsWith(`/home/${name}/`)),
    );
    expect(others).toEqual([]);
  });

  test.if(process.getuid?.() === 0)("reads, as root, nothing that only root may read", () => {
    expect(readFileSync("/etc/shadow", "utf8")).toContain("root:");
    expect(target.try("cat /etc/shadow /etc/gshadow; true").said).not.toContain(":");
  });

  test("finds the settings of git and of registries, without the lines that hold a secret", () => {
    const lines = [
      "[user]",
      "\tname = me",
      "\temail = me@example.org",
      `[url "https://x:${SECRET}@example.org/"]`,
      "\tinsteadOf = https://example.org/",
      "[http]",
      `\textraheader = AUTHORIZATION: basic ${SECRET}`,
    ];
    target.put(inHome(".gitconfig"), `${lines.join("\n")}\n`);
    target.put(inHome(".npmrc"), `registry=https://r.example/\n//r.example/:_authToken=${SECRET}\n`);
    target.put(
      inHome(".config/pip/pip.conf"),
      `[global]\nindex-url = https://u:${SECRET}@r.example/simple\n`,
    );
    const [git, npm, pip] = target.attempt([
      "git config user.email; rev < ~/.gitconfig",
      "cat ~/.npmrc; rev < ~/.npmrc",
      "rev < ~/.config/pip/pip.conf",
    ]);
    expect(git?.said).toContain("me@example.org");
    expect(npm?.said).toContain("registry=https://r.example/");
    for (const one of [git, npm, pip]) {
      expect(one?.success).toBe(true);
      expect(one?.said).not.toContain(backwards(SECRET));
    }
  });

  test("finds no token in any tool's own format, nor what is beside it", () => {
    const planted = Object.entries(SETTINGS_WITH_SECRETS);
    for (const [path, text] of planted) target.put(inHome(path), text);
    const said = target.attempt(planted.map(([path]) => `rev < ~/${path}; cat ~/${path}`));
    for (const [i, one] of said.entries()) {
      const path = planted[i]?.[0];
      expect({ path, found: one.said.includes(backwards(SECRET)) }).toEqual({ path, found: false });
      expect({ path, kept: one.said.includes("kept-setting") }).toEqual({ path, kept: true });
    }
    for (const [path] of planted) rmSync(inHome(path));
  });

  test("finds the tool chains of version managers, and their programs run", () => {
    const tools = {
      node: ".nvm/versions/node/v22.1.0/bin/node",
      python: ".pyenv/versions/3.12.1/bin/python",
      pyenv: ".pyenv/shims/pyenv",
      cargo: ".cargo/bin/cargo",
      rustc: ".rustup/toolchains/stable/bin/rustc",
      gopls: "go/bin/gopls",
      uv: ".local/bin/uv",
      deno: ".deno/bin/deno",
      volta: ".volta/bin/volta",
      mise: ".local/share/mise/shims/mise",
      conda: "miniconda3/bin/conda",
    };
    for (const [name, path] of Object.entries(tools)) program(path, `this is ${name}`);
    const PATH = `${Object.values(tools)
      .map((path) => dirname(inHome(path)))
      .join(":")}:${process.env.PATH}`;
    const said = target.attempt(
      Object.keys(tools).map((name) => `${name} --version`),
      { env: { PATH } },
    );
    expect(said.map((one) => one.said.trim())).toEqual(
      Object.keys(tools).map((name) => `this is ${name} --version`),
    );
  });

  test("follows a link of the home to what it may see, and none to the home as a whole", () => {
    program("dotfiles/tools/linked", "linked");
    symlinkSync("dotfiles/tools", inHome("bin"));
    symlinkSync(".", inHome(".n"));
    expect(target.try("~/bin/linked").said).toContain("linked");
    expect(target.try("rev < ~/.n/.bashrc; true").said).not.toContain(backwards(SECRET));
    rmSync(inHome("bin"));
    rmSync(inHome(".n"));
  });

  test("learns which path was hidden when it fails over one, and home_allow shows it", () => {
    program(".hidden-tool/bin/hidden-tool", "here");
    target.put(inHome(".config/acme/settings"), "colour=blue\n");
    const PATH = `${inHome(".hidden-tool/bin")}:${process.env.PATH}`;
    const lines = [shell("hidden-tool"), shell("cat ~/.config/acme/settings"), shell("cat ~/nothing-there")];
    const failed = target.apply(lines, [], { env: { PATH, LANG: "C" } });
    expect(failed.out).toContain("~/.hidden-tool is hidden from jobs; worker.home_allow");
    expect(failed.out).toContain("~/.config/acme is hidden from jobs");
    expect(failed.out).not.toContain("nothing-there is hidden");
    const env = { PATH, PICOCLAW_WORKER_HOME_ALLOW: "~/.hidden-tool,.config/acme/settings" };
    const [tool, settings] = target.attempt(["hidden-tool", "cat ~/.config/acme/settings"], { env });
    expect(tool?.said).toContain("here");
    expect(settings?.said).toContain("colour=blue");
  });

  test("keeps caches from job to job, and changes nothing of the home itself", () => {
    mkdirSync(inHome(".npm/_cacache"), { recursive: true });
    target.put(inHome(".npm/_cacache/real"), "real\n");
    const wrote = target.try(
      "echo mine > ~/.npm/_cacache/mine; echo x > ~/.npm/_cacache/real; echo y > ~/.new",
    );
    expect(wrote.success).toBe(true);
    expect(target.try("cat ~/.npm/_cacache/mine ~/.npm/_cacache/real ~/.new").said).toContain("mine\nx\ny");
    expect(readFileSync(inHome(".npm/_cacache/real"), "utf8")).toBe("real\n");
    expect(existsSync(inHome(".npm/_cacache/mine"))).toBe(false);
    expect(existsSync(inHome(".new"))).toBe(false);
  });

  test("writes into layers whose end flushes no disk, and those of a killed job stop no other", () => {
    // Mounts of others are there as well: of containers, say.
    const layers = 'grep " $HOME[ /].*upperdir=" /proc/self/mountinfo';
    const { said } = target.try(
      `echo left > ~/.left; ${layers} | grep -q volatile && echo seen; ${layers} | grep -v volatile; true`,
    );
    expect(said).toContain("seen");
    expect(said).not.toContain("upperdir=");
    const at = join(target.home, "workspaces");
    const folders = readdirSync(at).flatMap((id) => {
      const home = join(at, id, "home");
      return readdirSync(home).map((name) => join(home, name));
    });
    expect(folders.filter((folder) => existsSync(join(folder, "w")))).toEqual([]);
    // As the kernel leaves a layer whose mount was cut off.
    for (const folder of folders) mkdirSync(join(folder, "w/work/incompat/volatile"), { recursive: true });
    expect(target.try("cat ~/.left").said).toContain("left");
  });

  test("cannot lead the next job's mounts elsewhere by what it leaves", () => {
    const traps = [
      "ln -s /usr/bin ~/.ghcup",
      "rm -rf ~/.rye; ln -s /etc ~/.rye",
      "mkdir -p ~/.julia/x; chmod 0 ~/.julia",
    ];
    for (const { success } of target.attempt(traps)) expect(success).toBe(true);
    for (const name of [".ghcup", ".rye", ".julia/packages"]) target.put(inHome(`${name}/tool`), "tool\n");
    const [read, system] = target.attempt([
      "cat ~/.ghcup/tool ~/.rye/tool ~/.julia/packages/tool",
      "test ! -e /usr/bin/tool && test ! -e /etc/tool && test -e /usr/bin/env",
    ]);
    expect(read?.said).toContain("tool\ntool\ntool");
    expect(system?.success).toBe(true);
  });

  test.each([
    ["shut", "chmod 0 ~/.npm; chmod 0 ~", {}],
    ["shut in a copy", "chmod 0 ~/.npm; chmod 0 ~", { PICOCLAW_WORKER_TRANSACTION: "copy" }],
    ["read-only", "chmod 555 ~/.npm", {}],
    ["without a folder that every tool needs", "rm -rf ~/.config; echo x > ~/.config", {}],
  ])(
    "a home that it leaves unusable is put aside, and repaired by doctor --repair: %s",
    (_name, line, env) => {
      const fresh = createTarget();
      try {
        const left = fresh.apply([shell(`mkdir -p ~/.npm; echo kept > ~/.npm/kept; ${line}`)], [], { env });
        expect([left.code, left.out]).toEqual([0, expect.stringContaining("moved aside")]);
        const [next] = fresh.attempt(
          ["mkdir -p ~/.npm ~/.config && touch ~/.npm/x ~/.config/y && cat ~/.npm/kept; echo usable"],
          { env },
        );
        expect(next?.said).toContain("usable");
        expect(next?.said).not.toContain("kept\n");
        const seen = fresh.run(["doctor"]);
        expect(seen.out).toContain("moved aside");
        expect(fresh.run(["doctor", "--repair"]).out).toContain("in use again");
        expect(fresh.run(["doctor"]).out).not.toContain("moved aside");
        expect(fresh.try("cat ~/.npm/kept && ls ~/.npm/x && ls -d ~/.config/", { env })).toMatchObject({
          success: true,
        });
      } finally {
        fresh.remove();
      }
    },
  );

  test("says so when it is undone, too", () => {
    const said = target.apply([shell("chmod 0 ~; false")], ["--atomic"]);
    expect(said.out).toContain("moved aside");
    expect(target.try("touch ~/y").success).toBe(true);
  });

  test("leaves nothing for later jobs when it was a preview", () => {
    const leave = "mkdir -p ~/.npm; echo bad > ~/.npm/poison; echo bad > ~/.poison; echo x > made";
    for (const kind of ["overlay", "copy"]) {
      const env = { PICOCLAW_WORKER_TRANSACTION: kind };
      const staged = target.apply([shell(leave), create("also", "x\n")], ["--preview"], { env });
      expect(staged.code).toBe(0);
      expect(target.try("cat ~/.npm/poison ~/.poison; true", { env }).said).not.toContain("bad\n");
    }
  });
});

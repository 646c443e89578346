/** A workspace that is the user's home, or holds it: a job leaves nothing that the user's programs run or obey, and reads no key. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { create, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { backwards, createTarget, type Target } from "./hostile-kit.ts";

const SECRET = "do-not-read-me-71f0";

let target: Target;
/** The home, in the workspace or the workspace itself. */
let at: string;
let env: Record<string, string>;

beforeEach(() => {
  target = createTarget();
});
afterEach(() => target.remove());

/** The workspace is the home (""), or holds it. */
function settleHome(below: string): void {
  at = below === "" ? target.workspace : join(target.workspace, below);
  env = { HOME: at, PICOCLAW_LOCALE: "en" };
  for (const path of [".bashrc", ".gitconfig", ".local/bin/tool", ".config/fish/config.fish", "notes.txt"])
    target.put(join(at, path), "[user]\n\tname = me\n");
}

const inHome = (path: string) => join(at, path);

/** Names that some program runs or obeys unasked: at login, in the next shell, in the next command. */
const OBEYED = [
  ".bashrc",
  ".profile",
  ".zshenv",
  ".bash_aliases",
  ".gitconfig",
  ".config/git/config",
  ".ssh/config",
  ".ssh/authorized_keys",
  ".npmrc",
  ".config/systemd/user/x.service",
  ".config/autostart/x.desktop",
  ".config/environment.d/x.conf",
  ".config/fish/conf.d/x.fish",
  ".local/bin/tool",
  ".local/bin/ls",
  "bin/ls",
  ".xprofile",
  ".vimrc",
  ".cargo/bin/cargo",
  ".cargo/config.toml",
  ".nvm/nvm.sh",
] as const;

const KINDS = [
  ["overlay", {}],
  ["copy", { PICOCLAW_WORKER_TRANSACTION: "copy" }],
] as const;

describe.if(process.platform === "linux" && requirePart("bwrap"))("in a home that is the workspace", () => {
  describe.each(KINDS)("(%s)", (_, kind) => {
    test.each([
      ["is the workspace", ""],
      ["lies in the workspace", "people/me"],
    ])(
      "a command leaves nothing that programs obey, where the home %s",
      (_, below) => {
        settleHome(below);
        const old = readFileSync(inHome(".bashrc"), "utf8");
        const lines = OBEYED.map((path) => `mkdir -p ~/"$(dirname ${path})"; echo evil >> ~/${path}`);
        for (const [i, line] of lines.entries()) {
          const ran = target.apply([shell(line)], [], { env: { ...env, ...kind } });
          const path = OBEYED[i] as string;
          const text = existsSync(inHome(path)) ? readFileSync(inHome(path), "utf8") : "";
          expect({ path, evil: text.includes("evil") }).toEqual({ path, evil: false });
          expect({ path, code: ran.code, out: ran.out }).toMatchObject({ path, code: 1 });
          expect(ran.out).not.toMatch(/^Applied/);
          expect(ran.out).toMatch(/of your home|hidden from jobs/);
        }
        expect(readFileSync(inHome(".bashrc"), "utf8")).toBe(old);
      },
      400_000,
    );

    test("documents of the home are the workspace's: they are changed and undone", () => {
      settleHome("");
      const options = { env: { ...env, ...kind } };
      const ran = target.apply(
        [shell("echo more >> ~/notes.txt; mkdir -p src; echo x > src/a")],
        [],
        options,
      );
      expect(ran.out).toMatch(/^Applied/);
      expect(readFileSync(inHome("notes.txt"), "utf8")).toContain("more");
      expect(target.run(["undo"], options).code).toBe(0);
      expect(existsSync(inHome("src"))).toBe(false);
    });

    test("credentials are not read, under any name", () => {
      settleHome("");
      const paths = [
        ".cache/huggingface/token",
        ".kaggle/kaggle.json",
        ".config/some-new-tool/auth.toml",
        ".ssh/id",
        ".local/share/newtool/session",
      ];
      for (const path of paths) target.put(inHome(path), `${SECRET}\n`);
      for (const { said } of target.attempt(
        paths.map((path) => `rev < ~/${path}; true`),
        { env: { ...env, ...kind } },
      ))
        expect(said).not.toContain(backwards(SECRET));
      for (const path of paths) expect(readFileSync(inHome(path), "utf8")).toContain(SECRET);
    });

    test("what tools leave in the home does not land, fails nothing, and is named", () => {
      settleHome("");
      const ran = target.apply([shell("mkdir -p ~/.newtool; echo 1 > ~/.newtool/state; echo x > made")], [], {
        env: { ...env, ...kind },
      });
      expect(ran.out).toMatch(/^Applied/);
      expect(ran.out).toContain(".newtool");
      expect(existsSync(inHome(".newtool"))).toBe(false);
      expect(readFileSync(inHome("made"), "utf8")).toBe("x\n");
    });
  });

  test("a file that a name of the home leads to counts as that name", () => {
    settleHome("");
    target.put(inHome("dotfiles/bashrc"), "old\n");
    Bun.spawnSync(["ln", "-sfn", "dotfiles/bashrc", inHome(".bashrc")]);
    target.put(inHome("dotfiles/nvim/init.lua"), "old\n");
    symlinkSync("../dotfiles/nvim", inHome(".config/nvim"));
    const [shellFile, editor] = ["dotfiles/bashrc", "dotfiles/nvim/init.lua"];
    for (const path of [shellFile, editor] as const) {
      expect(target.apply([shell(`echo evil >> ${path}`)], [], { env }).code).toBe(1);
      expect(readFileSync(inHome(path as string), "utf8")).toBe("old\n");
    }
  });

  test("a home that is named through a link is the same home", () => {
    settleHome("");
    symlinkSync(target.workspace, join(target.folder, "link"));
    const linked = { ...env, HOME: join(target.folder, "link") };
    expect(target.apply([shell("echo evil >> ~/.bash_aliases")], [], { env: linked }).code).toBe(1);
    expect(existsSync(inHome(".bash_aliases"))).toBe(false);
    const other = target.apply([shell("echo evil >> .bash_aliases")], ["--workspace", linked.HOME], { env });
    expect([other.code, existsSync(inHome(".bash_aliases"))]).toEqual([1, false]);
  });

  test("a folder in which PATH looks for programs takes none from a job", () => {
    settleHome("");
    mkdirSync(inHome("tools"));
    const PATH = `${inHome("tools")}:${process.env.PATH}`;
    const ran = target.apply([shell("echo evil > tools/git; chmod +x tools/git")], [], {
      env: { ...env, PATH },
    });
    expect([ran.code, existsSync(inHome("tools/git"))]).toEqual([1, false]);
  });

  test("a background process cannot write to the parts of it that are visible", () => {
    settleHome("");
    const lines = [".bashrc", ".gitconfig", ".local/bin/tool", "notes.txt"].map(
      (path) => `echo evil >> ~/${path}`,
    );
    const started = target.run(["ps", "start", "--name", "p", "--", `${lines.join("; ")}; true`], { env });
    expect(started.code).toBe(0);
    for (const path of [".bashrc", ".gitconfig", ".local/bin/tool"])
      expect({ path, text: readFileSync(inHome(path), "utf8") }).toEqual({
        path,
        text: "[user]\n\tname = me\n",
      });
    expect(readFileSync(inHome("notes.txt"), "utf8")).toContain("evil");
    target.run(["ps", "stop", "p"], { env });
  });

  test("the home is not moved away with all that programs obey", () => {
    settleHome("people/me");
    const ran = target.apply([shell("mv people/me people/you")], [], { env });
    expect([ran.code, existsSync(inHome(".bashrc"))]).toEqual([1, true]);
  });
});

describe("an edit of a file of the home that programs obey", () => {
  test("is refused with the setting that allows it, and with it lands", () => {
    settleHome("");
    const edit = [create(".bash_aliases", "alias ll='ls -l'\n")];
    const refused = target.apply(edit, [], { env });
    expect([refused.code, existsSync(inHome(".bash_aliases"))]).toEqual([1, false]);
    expect(refused.out).toContain("worker.home_writes");
    const allowed = { ...env, PICOCLAW_WORKER_HOME_WRITES: "~/.bash_aliases" };
    expect(target.apply(edit, [], { env: allowed }).code).toBe(0);
    expect(readFileSync(inHome(".bash_aliases"), "utf8")).toContain("alias ll");
  });

  test("is a project's own where the home lies elsewhere", () => {
    at = target.workspace;
    expect(target.apply([create(".npmrc", "x=1\n")]).code).toBe(0);
    expect(readFileSync(inHome(".npmrc"), "utf8")).toBe("x=1\n");
  });

  test("names of projects stay writable in a home", () => {
    settleHome("");
    const edits = [create(".gitignore", "x\n"), create(".github/workflows/a.yml", "on: push\n")];
    expect(target.apply(edits, [], { env }).code).toBe(0);
    chmodSync(inHome(".gitignore"), 0o600);
    renameSync(inHome(".gitignore"), inHome("moved"));
  });
});

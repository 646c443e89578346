/** Which repository is a workspace's own: each place of a `.git`, asked in a process that has a home of its own. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { removeTree } from "../../../src/infrastructure/platform/remove-tree.ts";
import { requirePart } from "../../require.ts";

let folder: string;
const at = (path: string) => join(folder, path);
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-reach-")));
  mkdirSync(at("home"));
  mkdirSync(at("srv"));
});
afterEach(() => removeTree(folder));

const git = (cwd: string, ...args: string[]) => {
  const env = { PATH: process.env.PATH ?? "", HOME: at("home"), GIT_CONFIG_NOSYSTEM: "1" };
  const named = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"];
  const ran = spawnSync("git", [...named, ...args], { cwd: at(cwd), env, encoding: "utf8" });
  expect([args, ran.status, ran.stderr]).toEqual([args, 0, expect.anything()]);
};

const put = (path: string, text = "x\n") => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};

/** A repository with these files, all of them tracked. */
const repository = (top: string, files: readonly string[], ...how: string[]) => {
  mkdirSync(at(top), { recursive: true });
  git(top, "init", "-q", ...how);
  for (const file of files) put(join(top, file));
  if (files.length > 0) git(top, "add", "--", ...files);
};

const SOURCE = join(import.meta.dir, "../../../src/infrastructure/platform/git-roots.ts");

/** The reach of workspaces: the roots of a job and, where a repository above is not the workspace's own, that one and why. */
function reach(workspace: string, { home = "home", env = {}, as = 0, accounts = "" } = {}) {
  const code = `const { findReach, rootsFor } = await import(${JSON.stringify(SOURCE)});
    console.log(JSON.stringify({ roots: rootsFor(${JSON.stringify(at(workspace))}), foreign: findReach(${JSON.stringify(at(workspace))}).foreign }));`;
  const bun = [process.execPath, "--no-env-file", "-e", code];
  const asOne = ["setpriv", `--reuid=${as}`, `--regid=${as}`, "--clear-groups"];
  const withAccounts = [
    "unshare",
    "--mount",
    "sh",
    "-c",
    'mount --bind "$0" /etc/passwd && exec "$@"',
    accounts,
  ];
  const before = accounts !== "" ? withAccounts : as !== 0 ? asOne : [];
  const [program = "", ...args] = [...before, ...bun];
  const ran = spawnSync(program, args, {
    cwd: "/",
    env: { PATH: process.env.PATH ?? "", HOME: at(home), ...env },
    encoding: "utf8",
  });
  expect(ran.stderr).toBe("");
  const { roots, foreign } = JSON.parse(ran.stdout);
  const short = (path: string) => path.replace(`${folder}/`, "");
  return { roots: roots.map(short), foreign: foreign && [short(foreign.topLevel), foreign.why] };
}

const alone = (workspace: string, ...foreign: string[]) => ({
  roots: [workspace],
  foreign: foreign.length === 0 ? null : foreign,
});
const own = (...roots: string[]) => ({ roots, foreign: null });

describe.if(requirePart("git"))("the workspace's own repository", () => {
  test("is not one whose root is a home or above one", () => {
    repository("home", [".bashrc", "proj/a"]);
    expect(reach("home/proj")).toEqual(alone("home/proj", "home", "home"));
    git("home", "config", "status.showUntrackedFiles", "no");
    renameSync(at("home/.git"), at("home/.cfg"));
    put("home/.git", "gitdir: .cfg\n");
    expect(reach("home/proj")).toEqual(alone("home/proj", "home", "home"));
    // The home lies in the repository: the repository's root is above it.
    expect(reach("home/proj", { home: "home/proj/deep/home" })).toEqual(alone("home/proj", "home", "home"));
    // A home that was itself chosen has its own `.git`.
    expect(reach("home")).toEqual(own("home"));
  });

  test("is found under a link to the home, too", () => {
    repository("home", [".bashrc", "proj/a"]);
    symlinkSync(at("home"), at("alias"));
    expect(reach("home/proj", { home: "alias" })).toEqual(alone("home/proj", "home", "home"));
  });

  test("is a monorepo's, in each package that it tracks or that is new beside one", () => {
    repository("srv/mono", ["packages/a/x.js", "lock.json"]);
    mkdirSync(at("srv/mono/packages/new/deep"), { recursive: true });
    mkdirSync(at("srv/mono/dist/out"), { recursive: true });
    expect(
      ["packages/a", "packages/new", "packages", "dist"].map((path) => reach(`srv/mono/${path}`)),
    ).toEqual(Array(4).fill(own("srv/mono")));
    // `dist` and `packages/new` hold nothing that is tracked.
    for (const untracked of ["srv/mono/dist/out", "srv/mono/packages/new/deep"])
      expect(reach(untracked)).toEqual(alone(untracked, "srv/mono", "untracked"));
    expect(reach("srv/mono")).toEqual(own("srv/mono"));
  });

  test.each(["2", "4", "sha256", "split", "sparse"])("with an index of kind %s", (kind) => {
    repository(
      "r",
      ["a/one/1", "a/two/2", "b/c/3", "z"],
      ...(kind === "sha256" ? ["--object-format=sha256"] : []),
    );
    for (const more of ["b/new", "d/e"]) mkdirSync(at(`r/${more}`), { recursive: true });
    git("r", "commit", "-qm", "first");
    if (/\d$/.test(kind) && kind !== "sha256") git("r", "update-index", "--index-version", kind);
    if (kind === "split") git("r", "update-index", "--split-index");
    if (kind === "sparse") {
      git("r", "sparse-checkout", "set", "--cone", "--sparse-index", "b");
      mkdirSync(at("r/a/one"), { recursive: true });
    }
    const found = ["a/one", "b/c", "b/new", "d/e", "d"].map((path) => reach(`r/${path}`));
    expect(found).toEqual([own("r"), own("r"), own("r"), alone("r/d/e", "r", "untracked"), own("r")]);
  });

  test("is no repository without a tracked file, nor the next one above it", () => {
    repository("srv", ["inner/proj/a"]);
    repository("srv/inner", []);
    mkdirSync(at("srv/inner/proj"), { recursive: true });
    expect(reach("srv/inner/proj")).toEqual(alone("srv/inner/proj", "srv/inner", "untracked"));
    // Git passes over a `.git` folder that is none of its own.
    removeTree(at("srv/inner/.git"));
    mkdirSync(at("srv/inner/.git"));
    expect(reach("srv/inner/proj")).toEqual(own("srv"));
  });

  test("is that of the workspace's own .git, wherever the git folder lies", () => {
    repository("main", ["a/x"]);
    git("main", "commit", "-qm", "first");
    git("main", "worktree", "add", "-q", "../tree");
    git(".", "clone", "-q", "--bare", "main", "bare.git");
    git("bare.git", "worktree", "add", "-q", "../of-bare");
    mkdirSync(at("apart"));
    mkdirSync(at("kept"));
    git("apart", "init", "-q", "--separate-git-dir", at("kept/apart.git"));
    git("main", "submodule", "add", "-q", at("bare.git"), "sub");
    expect(
      ["tree", "tree/a", "of-bare", "apart", "main/sub", "main/sub/a"].map((path) => reach(path)),
    ).toEqual([
      own("tree", "main/.git"),
      own("tree", "main/.git"),
      own("of-bare", "bare.git"),
      own("apart", "kept/apart.git"),
      own("main/sub", "main/.git/modules/sub"),
      own("main/sub", "main/.git/modules/sub"),
    ]);
    // A bare repository itself has no `.git`.
    expect(reach("bare.git")).toEqual(alone("bare.git"));
    // The main folder is gone: no other repository takes its place.
    repository(".", ["tree/a/x"]);
    renameSync(at("main"), at("elsewhere"));
    expect([reach("tree"), reach("tree/a")]).toEqual([alone("tree"), alone("tree/a")]);
  });

  test("opens no folder that its files only name: a commondir or gitdir that is none of git's", () => {
    put("home/.ssh/id", "secret\n");
    repository("dl", ["a/x"]);
    put("dl/.git/commondir", "../../home/.ssh\n");
    expect(reach("dl")).toEqual(own("dl"));
    put("dl2/.git", `gitdir: ${at("home/.ssh")}\n`);
    put("dl2/a/x");
    expect([reach("dl2"), reach("dl2/a")]).toEqual([alone("dl2"), alone("dl2/a")]);
  });

  test("is not the git folder of another one that the .git of its files names", () => {
    repository("main", ["a/x"]);
    git("main", "commit", "-qm", "first");
    git("main", "worktree", "add", "-q", "../tree");
    git("main", "submodule", "add", "-q", at("main"), "sub");
    repository("apart", ["a/x"], "--separate-git-dir", at("apart.git"));
    git(".", "clone", "-q", "--bare", "main", "bare.git");
    const folders = [
      "main/.git",
      "main/.git/worktrees/tree",
      "main/.git/modules/sub",
      "apart.git",
      "bare.git",
    ];
    for (const [n, folder] of folders.entries()) {
      put(`dl${n}/a/x`, "another\n");
      put(`dl${n}/.git`, `gitdir: ${at(folder)}\n`);
    }
    // A `.git` of the files' own, which shares branches and objects with another.
    put("link/.git", "gitdir: .g\n");
    put("folder/a/x");
    for (const place of ["link/.g", "folder/.git"]) {
      put(`${place}/HEAD`, "ref: refs/heads/main\n");
      put(`${place}/commondir`, `${at("main/.git")}\n`);
    }
    const planted = [...folders.keys()].map((n) => `dl${n}`).concat("link", "folder");
    expect(planted.map((path) => reach(path))).toEqual(planted.map((path) => alone(path, path, "elsewhere")));
    expect(reach("dl0/a")).toEqual(alone("dl0/a", "dl0", "elsewhere"));
  });

  test("stays its own where the folder was moved, or copied and looked at by git", () => {
    repository("main", ["a/x"]);
    git("main", "commit", "-qm", "first");
    git("main", "worktree", "add", "-q", "../tree");
    repository("apart", ["a/x"], "--separate-git-dir", at("apart.git"));
    // Git does not believe times that are as young as its index.
    for (const one of ["tree", "apart"]) {
      utimesSync(at(`${one}/a/x`), 1_700_000_000, 1_700_000_000);
      git(one, "status");
      renameSync(at(one), at(`${one}-moved`));
    }
    expect([reach("tree-moved"), reach("apart-moved")]).toEqual([
      own("tree-moved", "main/.git"),
      own("apart-moved", "apart.git"),
    ]);
    cpSync(at("apart-moved"), at("copied"), { recursive: true });
    expect(reach("copied")).toEqual(alone("copied", "copied", "elsewhere"));
    git("copied", "status");
    expect(reach("copied")).toEqual(own("copied", "apart.git"));
  });

  test("does not depend on git's variables", () => {
    repository("home", [".bashrc", "proj/a"]);
    repository("srv/mono", ["packages/a/x.js"]);
    for (const env of [
      { GIT_DIR: at("home/.git"), GIT_WORK_TREE: at("home") },
      { GIT_CEILING_DIRECTORIES: at("srv/mono") },
      { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" },
    ])
      expect([reach("home/proj", { env }), reach("srv/mono/packages/a", { env })]).toEqual([
        alone("home/proj", "home", "home"),
        own("srv/mono"),
      ]);
  });
});

/** Any account but root. */
const ONE = 54_321;
const OTHER = 54_322;

describe.if(process.getuid?.() === 0 && requirePart("git"))(
  "a repository above that another user owns",
  () => {
    const chown = (user: number, ...paths: string[]) =>
      spawnSync("chown", ["-hR", `${user}:${user}`, ...paths.map(at)]);
    const config = (text: string) => put("home/.gitconfig", text);

    test.each([
      ["another user's", { owner: OTHER, as: ONE }, false],
      ["root's, for a user", { owner: 0, as: ONE }, false],
      ["a user's, for root", { owner: ONE, as: 0 }, false],
      ["the user's who called sudo", { owner: ONE, as: 0, env: { SUDO_UID: `${ONE}` } }, true],
      ["not theirs who called sudo", { owner: OTHER, as: 0, env: { SUDO_UID: `${ONE}` } }, false],
      ["root's, under sudo", { owner: 0, as: 0, env: { SUDO_UID: `${ONE}` } }, true],
      ["the user's", { owner: ONE, as: ONE }, true],
    ] as const)("%s", (_, { owner, ...options }, isOwn) => {
      repository("srv", ["proj/a"]);
      chown(owner, "srv");
      spawnSync("chmod", ["755", folder]);
      expect(reach("srv/proj", options)).toEqual(isOwn ? own("srv") : alone("srv/proj", "srv", "owner"));
    });

    test("counts where the user's own settings name it, and no settings of others do", () => {
      repository("srv", ["proj/a"]);
      spawnSync("chmod", ["755", folder]);
      chown(OTHER, "srv/.git");
      const found = (text: string, env = {}) => {
        config(text);
        chown(ONE, "home");
        return reach("srv/proj", { as: ONE, env }).foreign === null;
      };
      const safe = (value: string) => `[safe]\n\tdirectory = ${value}\n`;
      expect([
        found(safe(at("srv"))),
        found(safe("*")),
        found(`${safe("*")}\tdirectory =\n`),
        found(safe(at("home"))),
        found(""),
        found("", { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" }),
      ]).toEqual([true, true, false, false, false, false]);
      // Nor do those of the repository itself.
      git("srv", "-c", "safe.directory=*", "config", "safe.directory", "*");
      expect(found("")).toBe(false);
    });

    test("is not the workspace's own if only its .git file or git folder is another's", () => {
      repository("srv", ["proj/a"]);
      renameSync(at("srv/.git"), at("srv/.cfg"));
      put("srv/.git", "gitdir: .cfg\n");
      spawnSync("chmod", ["755", folder]);
      chown(ONE, "srv");
      expect(reach("srv/proj", { as: ONE })).toEqual(own("srv"));
      lchownSync(at("srv/.git"), OTHER, OTHER);
      expect(reach("srv/proj", { as: ONE })).toEqual(alone("srv/proj", "srv", "owner"));
      lchownSync(at("srv/.git"), ONE, ONE);
      lchownSync(at("srv/.cfg"), OTHER, OTHER);
      expect(reach("srv/proj", { as: ONE })).toEqual(alone("srv/proj", "srv", "owner"));
    });

    test.if(requirePart("mount"))("is not one whose root is a home that the password file names", () => {
      repository("srv/kim", ["proj/a"]);
      put("accounts", `root:x:0:0::/root:/bin/sh\nkim:x:1007:1007::${at("srv/kim")}:/bin/sh\n`);
      expect(reach("srv/kim/proj")).toEqual(own("srv/kim"));
      const found = reach("srv/kim/proj", { accounts: at("accounts") });
      expect(found).toEqual(alone("srv/kim/proj", "srv/kim", "home"));
    });

    test.if(requirePart("mount"))("a home that is mounted under another path is a home there, too", () => {
      repository("home", [".bashrc", "proj/a"]);
      mkdirSync(at("other"));
      const inside = (run: () => void) => {
        expect(spawnSync("mount", ["--bind", at("home"), at("other")]).status).toBe(0);
        try {
          run();
        } finally {
          spawnSync("umount", ["-l", at("other")]);
        }
      };
      inside(() => expect(reach("other/proj")).toEqual(alone("other/proj", "other", "home")));
    });
  },
);

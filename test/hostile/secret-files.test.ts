/**
 * The secret files of a project and the commands that a model starts: what these may read, and that the hiding is no change. The real
 * program with a scripted coder; each kind of staging that this machine has.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, linkSync, lstatSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../require.ts";
import { backwards, createTarget, type Target } from "./hostile-kit.ts";

const SECRET = "topsecret-4c1d";
const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];

let target: Target;
const git = (...args: string[]) => {
  const ran = spawnSync("git", args, { cwd: target.workspace, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  return ran.stdout;
};
const at = (path: string) => join(target.workspace, path);

/** A coder runs these lines, and the job lands where they succeed. */
function code(
  lines: readonly string[],
  how: Readonly<Record<"config" | "staging" | "checks", string>> | object = {},
) {
  const {
    config = "",
    staging = "overlay",
    checks = "{ enabled: never }",
  } = how as Record<string, string | undefined>;
  const blocks = lines.flatMap((line) => ["```bash", line, "```"]);
  const text = ["## Plan", "Look.", "## Patch", ...blocks, "## Risk", "low"];
  target.put(join(target.home, "answers.json"), JSON.stringify({ answers: [{ text: text.join("\n") }] }));
  target.put(
    join(target.home, "config.yaml"),
    [
      "providers:",
      `  scripted: { type: scripted, script: ${join(target.home, "answers.json")} }`,
      "roles:",
      ...ROLES.map((role) => `  ${role}: { provider: scripted, model: demo-1 }`),
      "coder: { attempts: 1, explore: 0 }",
      `checks: ${checks}`,
      `worker: { transaction: ${staging} ${config} }`,
      "",
    ].join("\n"),
  );
  const ran = target.run(["chat", "/code go"]);
  return { ...ran, said: `${ran.out}${ran.err}` };
}

/** Names, modes, sizes and times of everything but git's own. */
function tree(folder = ""): string[] {
  return readdirSync(at(folder))
    .filter((name) => name !== ".git")
    .sort()
    .flatMap((name) => {
      const path = folder === "" ? name : `${folder}/${name}`;
      const { mode, size, mtimeMs } = lstatSync(at(path));
      if (!lstatSync(at(path)).isDirectory()) return [`${path} ${mode} ${size} ${mtimeMs}`];
      return [`${path} ${mode}`, ...tree(path)];
    });
}

describe.if(process.platform === "linux" && requirePart("bwrap"))(
  "a model's command and secret files",
  () => {
    beforeEach(() => {
      target = createTarget();
      target.put(at(".env"), `TOKEN=${SECRET}\n`);
      target.put(at("sub/my.key"), `${SECRET}\n`);
      target.put(at("sub/OTHER.KEY"), `${SECRET}\n`);
      target.put(at("sub/code.js"), "1;\n");
      target.put(at("sub/.env.test"), "PUBLIC=tracked\n");
      target.put(at(".env.example"), "TOKEN=\n");
      target.put(at("real.conf"), `${SECRET}\n`);
      target.put(at("node_modules/tls/ca.pem"), "of a package\n");
      target.put(at(".gitignore"), ".env\nnode_modules\n");
      linkSync(at(".env"), at("second-name"));
      symlinkSync("real.conf", at(".env.local"));
      git("init", "-q");
      git("add", ".gitignore", ".env.example", "sub/.env.test", "sub/code.js");
      git("-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "-qm", "one");
    });
    afterEach(() => target.remove());

    describe.each(["overlay", "copy"] as const)("staged as %s", (staging) => {
      test.each([
        ["by its name", "rev .env"],
        ["encoded", "base64 .env | base64 -d | rev"],
        ["in a folder", "rev sub/my.key"],
        ["in another case", "rev sub/OTHER.KEY"],
        ["under its second name", "rev second-name"],
        ["through a link", "rev .env.local"],
        ["as the target of a secret's link", "rev real.conf"],
        ["renamed", "mv .env x; rev x"],
        ["in a renamed folder", "mv sub sub2; rev sub2/my.key"],
        ["copied", "cp -r . $TMPDIR/c; rev $TMPDIR/c/.env"],
        ["packed", "tar cf - . | tar xf - -O ./.env | rev"],
        ["put into git's store", "git add -A; git show :.env | rev; git show :sub/my.key | rev"],
        ["after a refused change of it", "echo x > .env; true\nrev .env"],
        ["after a refused removal of its folder", "rm -rf sub\nrev sub/my.key"],
      ])("a secret file is not read %s", (_, lines) => {
        const ran = code(
          lines.split("\n").map((line) => `${line}; true`),
          { staging },
        );
        expect(ran.said).toContain("[Plan]");
        expect(ran.said).not.toContain(backwards(SECRET));
        expect(readFileSync(at(".env"), "utf8")).toBe(`TOKEN=${SECRET}\n`);
        expect(readFileSync(at("sub/my.key"), "utf8")).toBe(`${SECRET}\n`);
      });

      test.each([
        ["the repository's index", "git update-index --add --cacheinfo 100644,$B,.env", "rev .env"],
        [
          "an index of version 4",
          "git update-index --index-version 4; git update-index --add --cacheinfo 100644,$B,.env",
          "rev .env",
        ],
        [
          "a repository of its own",
          "git init -q sub; cd sub; B=$(echo x | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$B,my.key",
          "rev sub/my.key",
        ],
        [
          "a commit",
          "git update-index --add --cacheinfo 100644,$B,.env; git -c user.name=m -c user.email=m@e commit -qm two",
          "rev .env",
        ],
        ["a virtual environment", "touch pyvenv.cfg sub/pyvenv.cfg", "rev .env sub/my.key"],
      ])("a secret file that an earlier job wrote into %s is not read", (_, line, read) => {
        const blob = "B=$(echo x | git hash-object -w --stdin)";
        const first = code([`echo 2 > made.js; ${blob}; ${line}; true`], { staging });
        const second = code([`${read}; true`], { staging });
        expect(second.said).toContain("[Plan]");
        expect(second.said).not.toContain(backwards(SECRET));
        expect(first.said).toContain("a secret file");
      });

      test("tracked files, templates and files of packages are read", () => {
        const ran = code(
          ["cat sub/.env.test .env.example node_modules/tls/ca.pem > seen; git show HEAD:sub/.env.test"],
          {
            staging,
          },
        );
        expect(readFileSync(at("seen"), "utf8")).toBe("PUBLIC=tracked\nTOKEN=\nof a package\n");
        expect(ran.said).toContain("Applied");
      });

      test("git commands neither see the hidden files as removed, nor commit or lose them, and nothing of it is a change", () => {
        const before = tree();
        const ran = code(
          [
            "git status --short > $TMPDIR/s; cat $TMPDIR/s; git add -A; git stash -u; git clean -fdxq -e node_modules; test ! -s $TMPDIR/s",
          ],
          { staging },
        );
        expect(ran.said).not.toContain("failed");
        expect(tree()).toEqual(before);
        expect(git("stash", "list")).toBe("");
      });

      test.each([
        ["renamed", "error", "mv hid hid2", true],
        ["renamed", "log", "mv hid hid2", true],
        ["removed", "skip", "rm -rf hid", true],
        ["replaced by a file", "log", "rm -rf hid; echo x > hid", true],
        ["replaced by a folder", "log", "mv hid hid2; mkdir hid; echo n > hid/n", true],
        ["cleaned up by git", "error", "git clean -fdxq -e node_modules hid", false],
        ["swept away with all the rest", "log", "rm -rf ./* ./.gitignore", true],
      ])(
        "a folder with secret files that is %s keeps them (action_on_protected_file: %s), and undo is exact",
        (_, action, line, isChange) => {
          const secrets = ["hid/my.key", "hid/deep/inner.key", "hid/only/one.pem"];
          for (const path of secrets) target.put(at(path), `${SECRET}\n`);
          for (const path of ["hid/code.js", "hid/deep/code.js"]) target.put(at(path), "2;\n");
          git("add", "hid/code.js", "hid/deep/code.js");
          const files = () => tree().filter((entry) => entry.split(" ").length > 2);
          const before = files();
          const ran = code([line], { staging, config: `, action_on_protected_file: ${action}` });
          expect(ran.said).toContain("it holds what the job could not see: ");
          for (const path of secrets) expect(readFileSync(at(path), "utf8")).toBe(`${SECRET}\n`);
          const after = files();
          expect(after.filter((path) => /\.(key|pem) /i.test(path) && path.startsWith("hid2"))).toEqual([]);
          expect(after.some((path) => path.startsWith("hid/code.js"))).toBe(!isChange);
          if (isChange) expect(target.run(["undo"]).code).toBe(0);
          expect(files()).toEqual(before);
        },
      );

      test("a job lands beside them and is undone exactly", () => {
        const before = tree();
        expect(code(["echo 2 >> sub/code.js; echo n > sub/new.txt"], { staging }).said).toContain("Applied");
        expect(readFileSync(at("sub/new.txt"), "utf8")).toBe("n\n");
        expect(target.run(["undo"]).code).toBe(0);
        expect(tree()).toEqual(before);
      });

      test("a command that fails for one says which file and which setting, and that setting shows it", () => {
        const failed = code(["rev .env"], { staging });
        expect(failed.said).toContain(".env: hidden from a model's commands");
        expect(failed.said).toContain("worker.env_files");
        const allowed = code(["rev .env", "cat sub/my.key || echo still-hidden"], {
          staging,
          config: ', env_files: [".env"]',
        });
        expect(allowed.said).toContain(backwards(SECRET));
        expect(allowed.said).toContain("still-hidden");
      });

      test("the project's checks read them, with their values masked in what is shown", () => {
        const checks = `{ command: "sed s/TOKEN/SAW/ .env; rev sub/my.key | rev; grep -q TOKEN .env" }`;
        const ran = code(["echo 2 >> sub/code.js"], { staging, checks });
        expect(ran.said).toContain("Applied");
        const journal = target.run(["show", "1", "--json"]).out;
        expect(journal).toContain("SAW=****");
        expect(`${ran.said}${journal}`).not.toContain(SECRET);
      });

      test("a person's own command reads them, and a file that a secret was added beside is found", () => {
        expect(target.try("rev .env", { env: { PICOCLAW_WORKER_TRANSACTION: staging } }).said).toContain(
          backwards(SECRET),
        );
        code(["true"], { staging });
        target.put(at("sub/deep/late.pem"), `${SECRET}\n`);
        expect(code(["rev sub/deep/late.pem"], { staging }).said).not.toContain(backwards(SECRET));
      });
    });

    test("a request to the coder shows none of them, in any case of the name", () => {
      for (const name of ["real.conf", ".env.local", "second-name"]) rmSync(at(name));
      code(["true"]);
      const answers = [{ text: "````console\n{{message}}\n````" }];
      target.put(join(target.home, "answers.json"), JSON.stringify({ answers }));
      const { out, err } = target.run(["chat", "/code change sub/code.js, sub/my.key and sub/OTHER.KEY"]);
      expect(`${out}${err}`).toContain("sub/code.js");
      expect(`${out}${err}`).not.toContain(SECRET);
    });

    test("in a nested repository that git's own index decides", () => {
      target.put(at("lib/inner/.env"), `A=${SECRET}\n`);
      target.put(at("lib/inner/shared.pem"), "public certificate\n");
      const inner = (...args: string[]) => spawnSync("git", ["-C", at("lib/inner"), ...args]);
      inner("init", "-q");
      inner("add", "shared.pem");
      const ran = code(["rev lib/inner/.env; cat lib/inner/shared.pem; true"]);
      expect(ran.said).not.toContain(backwards(SECRET));
      expect(ran.said).toContain("public certificate");
      expect(existsSync(at("lib/inner/.env"))).toBe(true);
    });
  },
);

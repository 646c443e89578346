import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";
import { git } from "../../fakes/forges/seed-repository.ts";
import { createSolveKit, DONE, FIX, PLAN, shell } from "./solve-kit.ts";

let kit: Awaited<ReturnType<typeof createSolveKit>>;
beforeEach(async () => {
  kit = await createSolveKit();
});
afterEach(() => kit.stop());

const config = { testCommand: "sh test.sh" };
const FIXED = "add() { echo $((a + b)); }\n";
const published = (path: string) =>
  `${git(kit.repository.folder ?? "", "show", `picoclaw/1-sum-is-wrong:${path}`)}\n`;

describe("an installation that sets the project's own git up to lie", () => {
  test.each<[what: string, install: string]>([
    [
      "a filter that writes something else into the commit",
      `git config filter.evil.clean 'sed s/b/b+666/'; echo '* filter=evil' > .git/info/attributes`,
    ],
    [
      "a filter of the user's settings",
      `printf '[filter "evil"]\\nclean = sed s/b/b+666/\\n[core]\\nattributesFile = ~/evil\\n' > ~/.gitconfig; echo '* filter=evil' > ~/evil`,
    ],
    ["a file that counts as unchanged", "git update-index --assume-unchanged calc.sh"],
  ])("%s: what was checked is what is published", async (_what, install) => {
    kit.environments.install = install;
    const { task } = await kit.solve([PLAN, shell(FIX), DONE], { config });
    expect(task.checks).toMatchObject([{ exitCode: 0 }]);
    expect(task).toMatchObject({ state: "done", failure: null });
    expect(published("calc.sh")).toBe(FIXED);
  });

  test("new files that its settings leave out are published, what the project ignores is not unless it was added", async () => {
    kit.environments.install =
      "echo new.txt > .git/info/exclude; printf 'kept.log\\nlost.log\\n' > .gitignore";
    const make = shell(
      `${FIX}; echo new > new.txt; echo kept > kept.log; echo lost > lost.log; git add -f kept.log`,
    );
    await kit.solve([PLAN, make, DONE], { config });
    const changed = git(
      kit.repository.folder ?? "",
      "diff",
      "--name-only",
      "main",
      "picoclaw/1-sum-is-wrong",
    );
    expect(changed.split("\n")).toEqual(["calc.sh", "kept.log", "new.txt"]);
  });
});

test("an object that lies about its content is found out on this machine: nothing is pushed", async () => {
  kit.environments.worker = async (folder) => {
    const evil = "add() { echo $((a + b + 666)); }\n";
    const name = createHash("sha1").update(`blob ${FIXED.length}\0${FIXED}`).digest("hex");
    const object = join(folder, ".git/objects", name.slice(0, 2), name.slice(2));
    mkdirSync(dirname(object), { recursive: true });
    writeFileSync(object, deflateSync(`blob ${evil.length}\0${evil}`));
    writeFileSync(join(folder, "calc.sh"), FIXED);
    return { exitCode: 0, stdout: "The sum adds now.", stderr: "" };
  };
  const { task } = await kit.solve([PLAN], { worker: "codex-cli", config });
  expect(task).toMatchObject({ state: "failed", failure: { kind: "push-failed" } });
  // The checks ran over what the object says, which is what would be published.
  expect(task.checks).toMatchObject([{ exitCode: 1 }]);
  expect(git(kit.repository.folder ?? "", "branch", "--list", "picoclaw/*")).toBe("");
});

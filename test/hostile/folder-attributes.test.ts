/** The attributes of a folder that a job made come with it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { getXattr, listXattrs } from "../../src/infrastructure/platform/xattr.ts";
import { type Cli, createCli, shell } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";

const here = process.platform === "linux" && requirePart("bwrap");
const SET = "import os, sys; os.setxattr(sys.argv[1], 'user.own', b'mine')";
let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

describe.if(here).each(["overlay", "copy"] as const)("a folder that a job made (%s)", (kind) => {
  test("keeps its attributes, and gets none of the overlay's", () => {
    const line = `python3 -c 'import os; os.mkdir("d"); os.setxattr("d", "user.mine", b"one")'; echo a > d/a`;
    const ran = cli.apply([shell(line)], [], { env: { PICOCLAW_WORKER_TRANSACTION: kind } });
    expect(ran.code).toBe(0);
    const value = getXattr(join(cli.workspace, "d"), "user.mine");
    expect(value.ok ? Buffer.from(value.value).toString() : value).toBe("one");
    const names = listXattrs(join(cli.workspace, "d"));
    expect(names.ok ? names.value.filter((name) => name.includes("overlay")) : names).toEqual([]);
  });
});

describe.if(here).each(["overlay", "copy"] as const)("a folder that was there (%s)", (kind) => {
  const env = { PICOCLAW_WORKER_TRANSACTION: kind };

  test("keeps its attributes, and the report says that the job had changed them", () => {
    mkdirSync(join(cli.workspace, "d"));
    const line = `python3 -c 'import os; os.setxattr("d", "user.mine", b"one")'; echo a > d/a`;
    const ran = cli.apply([shell(line)], [], { env });
    expect(ran.code).toBe(0);
    expect(getXattr(join(cli.workspace, "d"), "user.mine").ok).toBe(false);
    expect(ran.out).toContain(
      "d: the folder keeps its attributes and access lists, which the job had changed",
    );
    const japanese = cli.run(["show"], { env: { PICOCLAW_LOCALE: "ja" } });
    expect(japanese.out).toContain("d: ジョブが変えたフォルダの属性・アクセスリストは元のままです");
  });

  test("whose own attributes a job leaves alone is not spoken of", () => {
    mkdirSync(join(cli.workspace, "d"));
    expect(Bun.spawnSync(["python3", "-c", SET, join(cli.workspace, "d")]).success).toBe(true);
    const ran = cli.apply([shell("echo a > d/a")], [], { env });
    expect(ran.code).toBe(0);
    expect(ran.out).not.toContain("keeps its attributes");
  });
});

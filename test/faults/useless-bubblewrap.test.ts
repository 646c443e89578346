/** A `bwrap` that is installed and makes no sandbox: jobs fall back as if it were missing, and nothing of the try is left. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { enterGroup } from "../../src/infrastructure/sandbox/process-bound.ts";
import { type Cli, createCli, shell } from "../e2e/cli-kit.ts";
import { runs } from "../require.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const REFUSAL = 'echo "bwrap: No permissions to create new namespace" >&2; exit 1';

describe.if(process.platform === "linux")("a bubblewrap that", () => {
  test.each([
    ["refuses at once", `#!/bin/sh\n${REFUSAL}\n`],
    ["refuses after a while", `#!/bin/sh\nsleep 0.05\n${REFUSAL}\n`],
    ["refuses after it started a process", `#!/bin/sh\nsleep 0.2 &\n${REFUSAL}\n`],
    // Each start is given up after half a minute.
    ...(runs(1) > 1 ? [["never starts", "#!/bin/sh\nexec sleep 300\n"]] : []),
    ["ends without a word", "#!/bin/sh\nexit 0\n"],
    ["kills itself", "#!/bin/sh\nkill -9 $$\n"],
    ["is no program of this machine", "\u007fELF and nothing more"],
  ])("%s is as good as none", (_, script = "") => {
    const bin = join(cli.folder, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "bwrap"), script);
    chmodSync(join(bin, "bwrap"), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}` };
    for (const line of ["echo made > made", "echo more >> made"]) {
      const ran = cli.apply([shell(line)], ["--json"], { env });
      expect({ code: ran.code, err: ran.err, said: ran.code === 0 ? "" : ran.out }).toEqual({
        code: 0,
        err: "",
        said: "",
      });
    }
    expect(cli.read("made")).toBe("made\nmore\n");
    expect(cli.run(["undo"], { env }).code).toBe(0);
    expect(cli.run(["undo"], { env }).code).toBe(0);
    expect(existsSync(join(cli.workspace, "made"))).toBe(false);
  });
});

test("a sandbox whose group is removed while it enters leaves nothing that fails later", async () => {
  const group = enterGroup({ entrance: join(cli.folder, "gone/cgroup.procs") }, process.pid);
  await group.begun;
  await group.finish();
});

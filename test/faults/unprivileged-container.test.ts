/** An ordinary user in an ordinary container, where no namespace can be made: jobs run in a copy, and all holds there. */
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { requirePart } from "../require.ts";

const ROOT = join(import.meta.dir, "../..");
const IMAGES = ["coding-agent-executor:latest", "picoclaw-debian:bookworm"];

function docker(...args: string[]) {
  const { status, stdout, stderr } = spawnSync("docker", args, { encoding: "utf8", timeout: 120_000 });
  return { status, said: `${stdout}${stderr}` };
}

/** The tree is read-only, the engine's own seccomp profile and capabilities are left as they are. */
function inContainer(image: string, command: readonly string[], more: readonly string[] = []) {
  const shown = [
    "src",
    "test",
    "scripts",
    "bin",
    "package.json",
    "tsconfig.json",
    "bunfig.toml",
    "node_modules",
  ];
  const mounts = shown.flatMap((name) => ["-v", `${realpathSync(join(ROOT, name))}:/picoclaw/${name}:ro`]);
  const options = [
    ...["run", "--rm", "--network", "none", "--user", "12345:12345", "--label", "picoclaw.installation=test"],
    ...["--tmpfs", "/tmp:exec,mode=1777", "-e", "HOME=/tmp", "-e", "PICOCLAW_LOCALE=en", "-w", "/picoclaw"],
  ];
  return docker(...options, ...mounts, ...more, image, ...command);
}

describe.if(process.platform === "linux" && requirePart("docker"))("in an unprivileged container", () => {
  const image = IMAGES.find((one) => docker("image", "inspect", one).status === 0);
  const bun = "/picoclaw/node_modules/bun/bin/bun.exe";

  test.if(image !== undefined || /\bdocker\b/.test(process.env.PICOCLAW_TEST_REQUIRE ?? ""))(
    "there is an image to run in (else: picoclaw images build)",
    () => {
      expect(image).toBeDefined();
    },
  );

  test.if(image !== undefined)(
    "the contract of a transaction holds for direct and copy",
    () => {
      const { status, said } = inContainer(image as string, [
        ...[bun, "test", "--timeout", "30000", "./test/contracts/transaction.test.ts"],
      ]);
      expect(said).toMatch(/\n 0 fail\n/);
      expect(Number(/\n (\d+) pass\n/.exec(said)?.[1])).toBeGreaterThan(80);
      expect(status).toBe(0);
    },
    300_000,
  );

  test.if(image !== undefined && requirePart("bwrap"))(
    "a job with bubblewrap at hand runs in a copy, says why, and is taken back",
    () => {
      const bwrap = realpathSync(Bun.which("bwrap") as string);
      const script = `
        mkdir /tmp/ws && cd /tmp/ws && echo one > a
        run() { /picoclaw/bin/picoclaw "$@"; }
        printf '[{"type":"shell_command","action":"run","target":"echo two > a; mkdir d; echo x > d/x"}]' | run apply
        cat a d/x; run undo; cat a; ls; run doctor
        printf '[{"type":"shell_command","action":"run","target":"echo no"}]' | PICOCLAW_WORKER_CONFINE=on run apply; echo "status $?"
        printf '[{"type":"shell_command","action":"run","target":"echo no"}]' | PICOCLAW_WORKER_NETWORK_MODE=off run apply; echo "status $?"`;
      const { said } = inContainer(
        image as string,
        ["sh", "-c", script],
        ["-v", `${bwrap}:/usr/bin/bwrap:ro`],
      );
      expect(said).toContain("Transaction: copy");
      expect(said).toContain("two\nx\n");
      expect(said).toContain("was undone");
      expect(said).toMatch(/\none\na\n/);
      expect(said).toContain("! User namespaces: not available");
      expect(said).toMatch(/! Commands are (NOT|limited, not) confined/);
      expect(said.match(/status 3/g)?.length).toBe(2);
    },
    300_000,
  );
});

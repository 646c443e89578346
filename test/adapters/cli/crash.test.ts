import { expect, test } from "bun:test";
import { reportCrash } from "../../../src/adapters/cli/crash.ts";
import type { CliProgram } from "../../../src/adapters/cli/program.ts";
import { JobBroken } from "../../../src/application/ports/jobs-workspace.ts";
import { StoreAway } from "../../../src/domain/store/store-trouble.ts";

async function crash(error: Error, exitCode = 1): Promise<string> {
  const said: string[] = [];
  const program = {
    env: {},
    locale: "en",
    err: (text: string) => void said.push(text),
    logFault: async () => "/home/u/.picoclaw/logs/picoclaw.log",
  };
  expect(await reportCrash(program as unknown as CliProgram, error)).toBe(exitCode);
  return said.join("");
}

test("a store that takes no writes is reported in words, without a stack", async () => {
  const refused = "cannot execute INSERT in a read-only transaction";
  for (const error of [
    Object.assign(new Error(refused), { code: "25006" }),
    new StoreAway("locked", "another process keeps f locked"),
  ])
    expect(await crash(error)).toBe(
      `The database cannot be written to now (${error.message}). Try again later.\n`,
    );
});

test("an address that does not answer is not taken for the store", async () => {
  const error = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" });
  expect(await crash(error)).toBe(
    "An unexpected error occurred: connect ECONNREFUSED 127.0.0.1:9 (details: /home/u/.picoclaw/logs/picoclaw.log)\n",
  );
});

test("a bug is reported without code and without a stack", async () => {
  const bug = new TypeError("undefined is not an object (evaluating 'a.b.c')");
  expect(await crash(bug)).toBe(
    "An unexpected error occurred: TypeError (details: /home/u/.picoclaw/logs/picoclaw.log)\n",
  );
});

test.each([
  ["u0/sub/a.txt", "/home/u/ws/sub/a.txt"],
  ["view/0/ws/a.txt", "/home/u/ws/a.txt"],
  ["u0", "/home/u/ws"],
])(
  "a file that a job has in its storage (%s) is named as the user's own, with what helps",
  async (staged, own) => {
    const path = `/home/u/.picoclaw/workspaces/ws-1/jobs/job_1_abcdefgh/${staged}`;
    const refused = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES", path });
    const said = await crash(new JobBroken("job_1_abcdefgh", "/home/u/ws", refused));
    expect(said).toContain(`Permission denied: ${own}\n`);
    expect(said).toContain("you must be allowed to write there");
    expect(said).not.toContain(".picoclaw");
  },
);

test("a full disk is named by the file that was to be written, not by the one that was read", async () => {
  const paths = { path: "/program/demo/cart.js", dest: "/full/tmp/cart.js" };
  const full = Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", ...paths });
  expect(await crash(full, 3)).toStartWith("No space left on the disk: /full/tmp/cart.js\n");
});

test("a folder for temporary files that does not exist is named", async () => {
  const path = "/nonexistent/tmp/picoclaw-demo-AAAAAA";
  const missing = Object.assign(new Error("ENOENT"), { code: "ENOENT", syscall: "mkdtemp", path });
  expect(await crash(missing, 3)).toContain(path);
});

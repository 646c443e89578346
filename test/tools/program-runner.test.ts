import { expect, test } from "bun:test";
import { createContainerProgramRunner } from "../../src/tools/tool-context.ts";

const ANSWER = { outcome: "exited", exitCode: 0, stdout: "inside\n", stderr: "" };

function runnerOver(answer: Partial<typeof ANSWER>) {
  const asked: object[] = [];
  const run = createContainerProgramRunner(
    { PATH: process.env.PATH },
    "/workspace/project",
    async (request) => {
      asked.push(request);
      return { ...ANSWER, ...answer };
    },
  );
  return { asked, run };
}

test("a program that looks at the project runs in the container, with its input", async () => {
  const { asked, run } = runnerOver({});
  const input = new TextEncoder().encode("given");
  const ran = await run({ argv: ["rg", "x"], cwd: "/workspace/project/src", input, timeoutMs: 5_000 });
  expect({ ...ran, stdout: String(ran.stdout) }).toMatchObject({ exitCode: 0, stdout: "inside\n" });
  expect(asked).toEqual([
    {
      command: ["rg", "x"],
      cwd: "/workspace/project/src",
      stdin: input,
      timeoutMs: 5_000,
      outputLimitBytes: 32 * 1024 ** 2,
    },
  ]);
});

test("a program that works on a private copy runs on this machine", async () => {
  const { asked, run } = runnerOver({});
  const ran = await run({ argv: ["printf", "here"], cwd: "/", timeoutMs: 60_000 });
  expect([String(ran.stdout), asked]).toEqual(["here", []]);
});

test.each([
  [{ exitCode: 127 }, "REFUSED"],
  [{ outcome: "not-started" }, "REFUSED"],
  [{ outcome: "aborted" }, "ABORTED"],
])("%j is an error of the tool: %s", async (answer, code) => {
  const { run } = runnerOver(answer);
  const ran = run({ argv: ["rg"], cwd: "/workspace/project", timeoutMs: 5_000 });
  expect(await ran.catch((error) => error.code)).toBe(code);
});

import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createToolBench, type ToolBench } from "./tool-kit.ts";

let bench: ToolBench;
beforeEach(() => {
  bench = createToolBench();
});
afterEach(() => bench.remove());

const MAIN = join(import.meta.dir, "../../src/main.ts");

/** Whether a fresh process has loaded zod after one command. */
async function loadsZod(args: readonly string[]): Promise<boolean> {
  const script = `
    process.argv = ["bun", "picoclaw", ...${JSON.stringify(args)}];
    process.on("exit", () => {
      console.error("zod:" + Object.keys(require.cache).some((file) => file.includes("/node_modules/zod/")));
    });
    await import(${JSON.stringify(MAIN)});`;
  const child = Bun.spawn([process.execPath, "--no-env-file", "-e", script], {
    cwd: bench.workspace,
    env: bench.environment(),
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  return (await new Response(child.stderr).text()).includes("zod:true");
}

test("apply does not load the schema library, a tool does", async () => {
  bench.write("p.json", JSON.stringify([{ type: "file_edit", action: "create", target: "a", content: "x" }]));
  expect([await loadsZod(["apply", "p.json"]), await loadsZod(["tool", "tree"])]).toEqual([false, true]);
  expect(bench.read("a")).toBe("x");
}, 300_000);

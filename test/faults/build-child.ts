import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/**
 * A program that a test file starts hundreds of times, built as the shipped one is: from its sources each start takes twice the
 * work. It is removed after the file's tests.
 */
export async function buildChild(source: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-child-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  await Bun.build({
    entrypoints: [source],
    outdir: folder,
    target: "bun",
    format: "cjs",
    bytecode: true,
    minify: true,
  });
  return join(folder, `${basename(source, ".ts")}.js`);
}

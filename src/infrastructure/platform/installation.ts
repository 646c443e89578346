import { statSync } from "node:fs";
import { join } from "node:path";

export interface ProgramFiles {
  readonly runtimeSize: number;
  readonly runtime: () => AsyncIterable<Uint8Array>;
  readonly script: Uint8Array;
}

/**
 * The runtime's own file and the proxy as one script: from the bundle, or gathered now where PicoClaw runs from its
 * sources. Rejects when the sources cannot be gathered.
 */
export async function readProxyFiles(place: {
  readonly folder: string;
  readonly runtime: string;
  readonly bundled: boolean;
}): Promise<ProgramFiles> {
  const { folder, runtime, bundled } = place;
  const script = bundled
    ? await Bun.file(join(folder, "dist/wiring/proxy.js")).bytes()
    : await bundleScript(join(folder, "src/wiring/proxy.ts"));
  return {
    runtimeSize: statSync(runtime).size,
    runtime: () => Bun.file(runtime).stream() as unknown as AsyncIterable<Uint8Array>,
    script,
  };
}

async function bundleScript(entry: string): Promise<Uint8Array> {
  const built = await Bun.build({ entrypoints: [entry], target: "bun", minify: { whitespace: true } });
  const [script] = built.outputs;
  if (!built.success || script === undefined) throw new Error(built.logs.map(String).join("\n"));
  return new Uint8Array(await script.arrayBuffer());
}

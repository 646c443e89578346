import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";

/** The program's own folder and runtime, which the executor needs inside a sandbox. */
export interface Installation {
  readonly folder: string;
  readonly runtime: string;
  /** The executor's entry, relative to the folder. */
  readonly executor: string;
}

/** A file of the program that is not where it should be: half copied, or swept away while it ran. */
export class InstallationIncomplete extends Error {
  readonly code = "INSTALLATION_INCOMPLETE";
  constructor(readonly path: string) {
    super(`a file of PicoClaw is missing: ${path}`);
  }
}

/** The folder of this program, whether its sources or its bundle run: both know their depth. Throws `InstallationIncomplete`. */
export function findInstallation(): Installation {
  const here = import.meta.dir;
  const bundled = basename(here) !== "platform";
  const folder = join(here, bundled ? ".." : "../../..");
  const executor = bundled ? "dist/wiring/executor.js" : "src/wiring/executor.ts";
  for (const file of [executor, "bunfig.toml", "tsconfig.json"])
    if (!existsSync(join(folder, file))) throw new InstallationIncomplete(join(folder, file));
  return { folder: realpathSync(folder), runtime: realpathSync(process.execPath), executor };
}

/** Arguments that start an entry of the program, whatever settings the folder has in which it runs. */
export function runtimeArguments(folder: string, entry: string): string[] {
  return [
    `--config=${join(folder, "bunfig.toml")}`,
    "--no-env-file",
    `--tsconfig-override=${join(folder, "tsconfig.json")}`,
    "--no-install",
    join(folder, entry),
  ];
}

/** The entry of one of the program's threads: beside the executor's, in the sources and in the bundle. */
export function threadEntry({ folder, executor }: Installation, name: "limited" | "container-files"): string {
  return join(folder, dirname(executor), `${name}${extname(executor)}`);
}

/** Remembers the program's files; later names one that is gone, or null. Sources count as one: their folder. */
export function watchOwnPieces(here = import.meta.dir): () => string | null {
  const list = join(here, "pieces.json");
  if (basename(here) === "platform" || !existsSync(list)) return () => (existsSync(here) ? null : here);
  const pieces = JSON.parse(readFileSync(list, "utf8")) as readonly string[];
  return () => {
    if (!existsSync(here)) return here;
    const present = new Set(readdirSync(here));
    const gone = pieces.find((name) => !present.has(name));
    return gone === undefined ? null : join(here, gone);
  };
}

/** The runtime's own file and the proxy as one script: the bundle's, or gathered from the sources. Rejects when it cannot be. */
export async function readProxyFiles(place: {
  readonly folder: string;
  readonly runtime: string;
  readonly bundled: boolean;
}) {
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

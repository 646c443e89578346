/**
 * npm's registry on loopback, as far as an installation needs it: the packages of this checkout's lock file, each packed
 * from `node_modules` when it is asked for, and PicoClaw's own package beside them. Nothing leaves the machine, and no cache has
 * to be warm.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface LockEntry {
  readonly version: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

export interface NpmRegistry {
  readonly url: string;
  /** Names of packages whose files were fetched. */
  readonly fetched: readonly string[];
  stop(): void;
}

export function startNpmRegistry(
  root: string,
  own: { readonly version: string; readonly tarball: string },
): NpmRegistry {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, LockEntry>;
  };
  const places = new Map<string, [folder: string, entry: LockEntry][]>();
  for (const [folder, entry] of Object.entries(lock.packages)) {
    const name = folder.split("node_modules/").at(-1) ?? "";
    if (name !== "") places.set(name, [...(places.get(name) ?? []), [folder, entry]]);
  }
  const fetched: string[] = [];
  const http = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: answer });
  const url = `http://127.0.0.1:${http.port}/`;

  function answer(request: Request): Response {
    const path = decodeURIComponent(new URL(request.url).pathname.slice(1));
    const file = /^(.+)\/-\/(\d[^/]*)\.tgz$/.exec(path);
    return file === null ? describe(path) : pack(file[1] ?? "", file[2] ?? "");
  }

  function describe(name: string): Response {
    const versions =
      name === "picoclaw"
        ? [[own.version, readManifest(own.tarball)] as const]
        : (places.get(name) ?? []).map(([folder, entry]) => {
            const file = join(root, folder, "package.json");
            // A package of another platform is not here; the lock file names its platform, and npm does not fetch it.
            const manifest = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as object) : entry;
            return [entry.version, { name, ...manifest, version: entry.version }] as const;
          });
    if (versions.length === 0) return new Response("{}", { status: 404 });
    return Response.json({
      name,
      "dist-tags": { latest: versions[0]?.[0] },
      versions: Object.fromEntries(
        versions.map(([version, manifest]) => [
          version,
          { ...manifest, dist: { tarball: `${url}${name}/-/${version}.tgz` } },
        ]),
      ),
    });
  }

  function pack(name: string, version: string): Response {
    fetched.push(name);
    if (name === "picoclaw") return new Response(Bun.file(own.tarball));
    const folder = places.get(name)?.find(([, entry]) => entry.version === version)?.[0];
    if (folder === undefined) return new Response("", { status: 404 });
    const tar = [
      "tar",
      "-cf",
      "-",
      "--exclude=./node_modules",
      "--transform=s,^\\.,package,",
      "-C",
      join(root, folder),
      ".",
    ];
    const child = Bun.spawn(isRuntime(name) ? withRuntime(tar) : tar, { stdout: "pipe", stderr: "ignore" });
    return new Response(child.stdout);
  }

  return { url, fetched, stop: () => void http.stop(true) };
}

/** Installing moves the runtime's binary out of its own package; it goes back into it here. */
const isRuntime = (name: string) => name.startsWith("@oven/bun-");
const withRuntime = (tar: readonly string[]) => [
  ...tar.filter((word) => word !== "."),
  "--transform=s,^.*/bun[^/]*$,package/bin/bun,",
  "./package.json",
  process.execPath,
];

function readManifest(tarball: string): object {
  const read = Bun.spawnSync(["tar", "-xzOf", tarball, "package/package.json"]);
  return JSON.parse(String(read.stdout)) as object;
}

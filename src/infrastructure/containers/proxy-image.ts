import type { SandboxFailure } from "../../application/ports/containers.ts";
import { type ArchiveEntry, archiveStream } from "./archive-stream.ts";
import type { Engine } from "./docker-engine.ts";
import { sandboxFailure } from "./failures.ts";
import { LABEL } from "./labels.ts";

/** The proxy as files: the runtime that this program runs on, and the bundled script. */
export interface ProxyProgram {
  /** Changes with the content of either. */
  readonly version: string;
  readonly runtime: { readonly size: number; readonly content: () => AsyncIterable<Uint8Array> };
  readonly script: Uint8Array;
}

export const PROXY_UID = 65_534;
const PROXY_RUNTIME = "opt/picoclaw/bun";
const PROXY_SCRIPT = "opt/picoclaw/proxy.js";

/**
 * The image of the proxy: any image with a C library, plus two files. Made once per version, by committing a container
 * that never ran, so that no builder is needed. Its `/run/picoclaw-proxy` belongs to the proxy's user, and so does
 * then a volume that is mounted there first.
 */
export async function ensureProxyImage(
  engine: Engine,
  program: ProxyProgram,
  bases: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string | SandboxFailure> {
  const image = `picoclaw-proxy:${program.version}`;
  const known = await engine.call({ method: "GET", path: `/images/${image}/json`, signal });
  if (known.ok) return image;
  if (known.code !== "image-missing" && !/no such image/i.test(known.detail)) return known;
  let last: SandboxFailure = sandboxFailure("no-proxy", "no image to make the proxy of");
  for (const base of bases) {
    const made = await makeProxyImage(engine, program, base, signal);
    if (made === undefined) {
      await removeOlder(engine, image);
      return image;
    }
    last = made;
    if (made.code !== "image-missing") break;
  }
  return last;
}

/** Versions before this one, unless a container still uses them: the engine refuses that by itself. */
async function removeOlder(engine: Engine, current: string): Promise<void> {
  const images = await engine.call<
    readonly { readonly Id: string; readonly RepoTags: readonly string[] | null }[]
  >({
    method: "GET",
    path: "/images/json",
    query: { filters: JSON.stringify({ label: [LABEL.proxy], before: [current] }) },
  });
  if (!images.ok) return;
  for (const { RepoTags } of images.value)
    for (const tag of RepoTags ?? [])
      if (tag.startsWith("picoclaw-proxy:")) await engine.call({ method: "DELETE", path: `/images/${tag}` });
}

async function makeProxyImage(
  engine: Engine,
  program: ProxyProgram,
  base: string,
  signal: AbortSignal | undefined,
): Promise<SandboxFailure | undefined> {
  const created = await engine.call<{ Id: string }>({
    method: "POST",
    path: "/containers/create",
    body: { Image: base, Entrypoint: ["/bin/false"], Cmd: [], HostConfig: { NetworkMode: "none" } },
    signal,
  });
  if (!created.ok) return created;
  const { Id: id } = created.value;
  try {
    const put = await engine.call({
      method: "PUT",
      path: `/containers/${id}/archive`,
      query: { path: "/" },
      body: archiveStream(proxyImageEntries(program)),
      contentType: "application/x-tar",
      timeoutMs: 300_000,
      signal,
    });
    if (!put.ok) return put;
    const committed = await engine.call({
      method: "POST",
      path: "/commit",
      query: { container: id, repo: "picoclaw-proxy", tag: program.version, pause: false },
      body: {
        User: `${PROXY_UID}:${PROXY_UID}`,
        WorkingDir: "/",
        Entrypoint: [`/${PROXY_RUNTIME}`, "--no-env-file", `/${PROXY_SCRIPT}`],
        Cmd: [],
        Labels: { [LABEL.proxy]: program.version },
      },
      timeoutMs: 300_000,
      signal,
    });
    return committed.ok ? undefined : committed;
  } finally {
    await engine.call({ method: "DELETE", path: `/containers/${id}`, query: { force: true, v: true } });
  }
}

function proxyImageEntries({ runtime, script }: ProxyProgram): readonly ArchiveEntry[] {
  const root = { uid: 0, gid: 0 };
  return [
    { kind: "directory", path: "opt/picoclaw", mode: 0o755, ...root },
    { kind: "file", path: PROXY_RUNTIME, mode: 0o755, size: runtime.size, content: runtime.content, ...root },
    { kind: "file", path: PROXY_SCRIPT, mode: 0o644, size: script.length, content: script, ...root },
    { kind: "directory", path: "run/picoclaw-proxy", mode: 0o755, uid: PROXY_UID, gid: PROXY_UID },
  ];
}

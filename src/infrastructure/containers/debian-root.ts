import { createReadStream, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ImageProgress, Images } from "../../application/ports/containers.ts";
import { createProcessRunner } from "../platform/process-runner.ts";
import { removeTree } from "../platform/remove-tree.ts";

const SUITE = "bookworm";
const NAME = `picoclaw-debian:${SUITE}`;
const MIRROR = "http://deb.debian.org/debian";
const TIMEOUT_MS = 900_000;

type Root =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly name: string; readonly message: string };

/** A Debian root for our base image where no registry can be reached: made by debootstrap, once. Root only. */
export async function ensureDebianRoot(images: Images, { signal, onLine }: ImageProgress): Promise<Root> {
  if ((await images.inspect(NAME, signal)) !== null) return { ok: true, name: NAME };
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-debian-"));
  const archive = join(folder, "root.tar");
  const script =
    `debootstrap --variant=minbase --include=ca-certificates ${SUITE} root ${MIRROR} && rm -rf root/dev/* root/var/cache/apt/archives/*.deb ` +
    `&& echo "deb ${MIRROR}-security ${SUITE}-security main" >> root/etc/apt/sources.list && tar -C root --numeric-owner -cf root.tar .`;
  try {
    const made = await createProcessRunner().runProcess({
      argv: ["sh", "-c", script],
      cwd: folder,
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", LC_ALL: "C" },
      timeoutMs: TIMEOUT_MS,
      outputLimitBytes: 64 * 1024,
      jobMarker: "debian-root",
      ...(signal !== undefined && { signal }),
      ...(onLine !== undefined && { onOutput: (_: string, text: string) => onLine(text.trimEnd()) }),
    });
    if (made.exitCode !== 0 || !existsSync(archive))
      return {
        ok: false,
        name: NAME,
        message: `debootstrap (as root) failed: ${made.output.trim().split("\n").slice(-5).join("\n")}`,
      };
    const imported = await images.importArchive(NAME, createReadStream(archive), {
      labels: { "picoclaw.suite": SUITE },
      ...(signal !== undefined && { signal }),
    });
    return imported.ok ? { ok: true, name: NAME } : { ok: false, name: NAME, message: imported.message };
  } finally {
    removeTree(folder);
  }
}

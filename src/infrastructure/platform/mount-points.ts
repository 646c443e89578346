import { readFileSync, statSync } from "node:fs";
import { isInside } from "../../domain/platform/paths.ts";

/** Whether a rename between the two folders can work: one device, one mount. */
export function renameable(a: string, b: string): boolean {
  try {
    if (statSync(a).dev !== statSync(b).dev) return false;
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  const mounts = readMounts();
  return mountOf(a, mounts).point === mountOf(b, mounts).point;
}

/** The mounts that this process sees. */
export function readMounts() {
  return readFileSync("/proc/self/mountinfo", "utf8").split("\n").flatMap(parseMount);
}

/** `36 35 98:0 /root /point rw - type source options` */
function parseMount(line: string) {
  const [own = "", rest = ""] = line.split(" - ");
  const [, , , root, point] = own.split(" ");
  const [type = "", , options = ""] = rest.split(" ");
  if (root === undefined || point === undefined) return [];
  return [{ root: unescaped(root), point: unescaped(point), type, options: options.split(",") }];
}

export function mountPoints(): string[] {
  return readMounts().map(({ point }) => point);
}

/** Whether new mounts on this machine appear in namespaces that were created earlier. */
export function mountsAreShared(): boolean {
  return / (?:shared|master):\d/.test(readFileSync("/proc/self/mountinfo", "utf8"));
}

/** White space in a mount table is written as octal numbers. */
function unescaped(point: string): string {
  return point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

export function fileSystemOf(path: string): string {
  return process.platform === "linux" ? mountOf(path, readMounts()).type : "?";
}

function mountOf(path: string, mounts: ReturnType<typeof readMounts>) {
  let best = { point: "", type: "?" };
  for (const mount of mounts)
    if (isInside(mount.point.replace(/^\/$/, ""), path) && mount.point.length >= best.point.length)
      best = mount;
  return best;
}

/** A mount below one of these folders: an overlay would not show it, or could not be mounted. */
export function mountBelow(roots: readonly string[]): string | null {
  const isBelow = (point: string) => roots.some((root) => point !== root && isInside(root, point));
  return mountPoints().find(isBelow) ?? null;
}

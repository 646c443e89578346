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
  const mounts = mountPoints();
  return longestPrefix(mounts, a) === longestPrefix(mounts, b);
}

export function mountPoints(): string[] {
  const points: string[] = [];
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const point = line.split(" ", 5)[4];
    if (point !== undefined) points.push(unescaped(point));
  }
  return points;
}

/** Whether new mounts on this machine appear in namespaces that were created earlier. */
export function mountsAreShared(): boolean {
  return / (?:shared|master):\d/.test(readFileSync("/proc/self/mountinfo", "utf8"));
}

function unescaped(point: string): string {
  return point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

export function fileSystemOf(path: string): string {
  if (process.platform !== "linux") return "?";
  let best = { point: "", type: "?" };
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const [before, after] = line.split(" - ");
    const point = unescaped(before?.split(" ", 5)[4] ?? "");
    const holds = point === "/" || path === point || path.startsWith(`${point}/`);
    if (point !== "" && holds && point.length >= best.point.length)
      best = { point, type: after?.split(" ")[0] ?? "?" };
  }
  return best.type;
}

function longestPrefix(points: readonly string[], path: string): string {
  let best = "/";
  for (const point of points) {
    if (point.length > best.length && (path === point || path.startsWith(`${point}/`))) best = point;
  }
  return best;
}

/** A mount below one of these folders: an overlay would not show it, or could not be mounted. */
export function mountBelow(roots: readonly string[]): string | null {
  const isBelow = (point: string) => roots.some((root) => point !== root && isInside(root, point));
  return mountPoints().find(isBelow) ?? null;
}

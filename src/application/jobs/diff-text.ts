import type { FileDifference } from "../ports/jobs.ts";

/** Unified diffs of text files; others are named. */
export async function diffText(differences: readonly FileDifference[]): Promise<string> {
  const { createTwoFilesPatch } = await import("diff");
  let text = "";
  for (const { path, before, after } of differences) {
    if (before === undefined || after === undefined) {
      text += `# ${path}: changed again since; no longer known\n`;
      continue;
    }
    const [old, now] = [decode(before), decode(after)];
    if (old === null || now === null) {
      text += `Binary files a/${path} and b/${path} differ\n`;
      continue;
    }
    const names = [
      before === null ? "/dev/null" : `a/${path}`,
      after === null ? "/dev/null" : `b/${path}`,
    ] as const;
    text += createTwoFilesPatch(names[0], names[1], old, now).replace(/^=+\n/, "");
  }
  return text;
}

function decode(bytes: Uint8Array | null): string | null {
  if (bytes === null) return "";
  if (bytes.subarray(0, 8000).includes(0)) return null;
  return Buffer.from(bytes).toString("utf8");
}

import { join } from "node:path";
import type { ToolCallContent } from "@agentclientprotocol/sdk";
import type { FileDifference } from "../../application/ports/jobs.ts";

/** Editors show a difference whole; what is longer is named. */
const MOST_BYTES = 1_000_000;

/** What a job changed, as editors show it. A file that is no text, too long or changed again since is named. */
export function fileDiffs(differences: readonly FileDifference[], root: string): ToolCallContent[] {
  return differences.map(({ path, before, after }): ToolCallContent => {
    const [oldText, newText] = [shownText(before), shownText(after)];
    if (oldText === undefined || newText === undefined)
      return { type: "content", content: { type: "text", text: path } };
    return { type: "diff", path: join(root, path), oldText, newText: newText ?? "" };
  });
}

/** Null is absence, undefined is what cannot be shown. */
function shownText(bytes: Uint8Array | null | undefined): string | null | undefined {
  if (bytes === null || bytes === undefined) return bytes;
  if (bytes.length > MOST_BYTES || bytes.subarray(0, 8000).includes(0)) return undefined;
  return Buffer.from(bytes).toString("utf8");
}

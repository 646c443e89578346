import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContentBlock } from "@agentclientprotocol/sdk";

/**
 * What the user wrote, as one message. A file of the workspace is named by its path, since coders read it as it stands;
 * other text comes along in a fence. Pictures and sounds were never offered.
 */
export function promptText(blocks: readonly ContentBlock[], root: string): string {
  let text = "";
  const behind: string[] = [];
  for (const block of blocks)
    switch (block.type) {
      case "text":
        text += block.text;
        break;
      case "resource_link":
        text += fileNameOf(block.uri, root) ?? block.uri;
        break;
      case "resource": {
        const { resource } = block;
        const name = fileNameOf(resource.uri, root);
        text += name ?? resource.uri;
        if (name === null && "text" in resource) behind.push(fenced(resource.text));
        break;
      }
      case "image":
      case "audio":
        break;
    }
  return [text, ...behind].join("\n\n");
}

/** The path in the workspace, with the lines that a selection names: `src/a.ts (L3:9)`. Null for what lies elsewhere. */
function fileNameOf(uri: string, root: string): string | null {
  let url: URL;
  let path: string;
  try {
    url = new URL(uri);
    path = relative(root, fileURLToPath(new URL(url.pathname, "file:///")));
  } catch {
    return null;
  }
  if (url.protocol !== "file:" || path === "" || path.startsWith("..") || isAbsolute(path)) return null;
  return url.hash === "" ? path : `${path} (${url.hash.slice(1)})`;
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

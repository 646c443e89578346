import { jsonMeaning } from "../json.ts";
import { scanJson, skipJsonSpace } from "../syntax.ts";
import { createFinder } from "./marks.ts";

/** JSON that means commands, or was surely meant to. */
export type JsonPiece =
  | { readonly kind: "json"; readonly value: unknown; readonly start: number }
  | {
      readonly kind: "broken-json";
      readonly at: number;
      readonly reason: string;
      readonly start: number;
      /** It stood at the start of its line. */
      readonly flush: boolean;
    };

export interface JsonHit {
  readonly piece: JsonPiece | undefined;
  /** Where the prose goes on. */
  readonly next: number;
}

/**
 * Finds JSON commands in prose: an array of objects anywhere on the line, an object at its start. What was scanned
 * is never scanned again, so a text of nothing but brackets stays linear.
 */
export function createJsonSearch(
  text: string,
): (from: number, lineEnd: number, lineAt: number) => JsonHit | undefined {
  const nextArray = createFinder(text, "[");
  const nextType = createFinder(text, '"type"');
  const nextAction = createFinder(text, '"action"');
  /** Broken JSON that was surely meant as commands; it must not be passed over in silence. */
  const meantCommands = (start: number, end: number): boolean => {
    const type = nextType(start);
    const action = nextAction(start);
    return type !== -1 && action !== -1 && Math.max(type, action) < end + 1000;
  };

  const read = (start: number, flush: boolean): JsonHit => {
    const extent = scanJson(text, start);
    if (!extent.ok) {
      const next = Math.max(extent.at, start + 1);
      if (!meantCommands(start, next)) return { piece: undefined, next };
      return { piece: { kind: "broken-json", at: extent.at, reason: extent.reason, start, flush }, next };
    }
    const value: unknown = JSON.parse(text.slice(start, extent.end));
    const commands = jsonMeaning(value).kind !== "other";
    return { piece: commands ? { kind: "json", value, start } : undefined, next: extent.end };
  };

  return (from, lineEnd, lineAt) => {
    if (text.charAt(lineAt) === "{" && text.charAt(skipJsonSpace(text, lineAt + 1)) === '"')
      return read(lineAt, true);
    for (let hit = nextArray(from); hit !== -1 && hit < lineEnd; hit = nextArray(hit + 1)) {
      const inside = skipJsonSpace(text, hit + 1);
      if (text.charAt(inside) === "{") return read(hit, hit === lineAt);
      if (inside > lineEnd) return undefined;
    }
    return undefined;
  };
}

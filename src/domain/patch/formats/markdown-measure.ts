import type { Fence, FenceEnd } from "./fences.ts";
import { closeFence, closeNestedFence } from "./fences.ts";
import { createExtents } from "./markdown-extent.ts";
import type { EmbeddedFormat } from "./markdown-marks.ts";
import { createFinder } from "./markdown-marks.ts";

/** How far blocks and raw patches reach. */
export function createMeasure(text: string) {
  const extents = createExtents(text);
  const stops = ["\n```", "\n~~~", "\n*** Begin Patch", "\n<<<<<<< SEARCH"].map((stop) =>
    createFinder(text, stop),
  );
  // Looking ahead for a better end is paid from this, so that no text makes it quadratic.
  let budget = 4 * text.length;

  const flush = (fence: Fence): FenceEnd => {
    if (budget > 0) {
      const end = closeFence(text, fence, { flush: true });
      if (end.closed) return end;
      budget -= text.length - fence.bodyStart;
    }
    return closeFence(text, fence, { flush: false });
  };

  const extentOf = (format: EmbeddedFormat | undefined, from: number): number | undefined => {
    if (format === "v4a") return extents.v4a(from);
    return format === "search-replace" ? extents.searchReplace(from) : undefined;
  };

  return {
    fence(fence: Fence, embedded: EmbeddedFormat | undefined): { end: FenceEnd; nested: boolean } {
      const from = extentOf(embedded, fence.bodyStart);
      if (from !== undefined) return { end: flush({ ...fence, bodyStart: from }), nested: false };
      if (embedded !== undefined || /^(diff|patch)\b/i.test(fence.info))
        return { end: flush(fence), nested: false };
      if (isMarkdown(fence.info) && budget > 0) {
        const end = closeNestedFence(text, fence, budget);
        if (end !== undefined) return { end, nested: end.nested };
        budget -= text.length - fence.bodyStart;
      }
      return { end: closeFence(text, fence, { flush: false }), nested: false };
    },
    raw(format: EmbeddedFormat, from: number, lineEnd: number): number {
      const found = extentOf(format, from);
      if (found !== undefined) return found;
      if (format === "search-replace") return text.length;
      let end = text.length;
      for (const next of stops) {
        const stop = next(lineEnd);
        if (stop !== -1) end = Math.min(end, stop + 1);
      }
      return end;
    },
  };
}

/** Files whose own text has fences in it. */
function isMarkdown(info: string): boolean {
  return /^(md|mdx|markdown)\b/i.test(info) || /\.(md|mdx|markdown)["']?$/i.test(info);
}

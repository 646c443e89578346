import { scanJson } from "../patch/formats/json.ts";

/**
 * The first JSON object in a model's answer that `wanted` accepts: bare, in a fence, or with prose around it; undefined
 * when there is none. Scanned text is not scanned again, so that a text of only braces stays linear.
 */
export function jsonInAnswer(
  text: string,
  wanted: (value: Readonly<Record<string, unknown>>) => boolean = () => true,
): Readonly<Record<string, unknown>> | undefined {
  for (let from = text.indexOf("{"); from >= 0; ) {
    const extent = scanJson(text, from);
    if (extent.ok) {
      const value = JSON.parse(text.slice(from, extent.end)) as Record<string, unknown>;
      if (wanted(value)) return value;
    }
    from = text.indexOf("{", Math.max(extent.ok ? extent.end : extent.at, from + 1));
  }
  return undefined;
}

/** What benches with long plays share: a record of one line a play, a pool of workers, a sample. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";

/** The plays of a record; a line that a killed run left unfinished is no line. */
export function readRecord<Play>(file: string): Play[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Play];
      } catch {
        return [];
      }
    });
}

export async function inPool<Item>(
  items: readonly Item[],
  size: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const worker = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: size }, worker));
}

/** `count` of them, the same on every machine; all without it. */
export function takeSample<Item extends { readonly name: string }>(
  items: readonly Item[],
  count: string | undefined,
): Item[] {
  if (count === undefined) return [...items];
  const place = ({ name }: Item) => createHash("sha256").update(name).digest("hex");
  return items.toSorted((x, y) => place(x).localeCompare(place(y))).slice(0, Number(count));
}

/** Whether a reply says that the checks judged the change and that it was applied. */
export function saysGreen({
  code,
  text = "",
}: {
  readonly code?: number | null;
  readonly text?: string;
}): boolean {
  const [first = ""] = text.split("\n", 1);
  return code === 0 && /^Applied/.test(first) && !first.includes("NOT CHECKED");
}

/** The words of `picoclaw chat --json`. */
export function readReplyText(stdout: string): string | null {
  try {
    return (JSON.parse(stdout) as { text: string }).text;
  } catch {
    return null;
  }
}

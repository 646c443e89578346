const HEADS =
  /strict_fifo_heads AS MATERIALIZED \(\s*SELECT DISTINCT ON \(h\.singleton_key\) h\.id\s+(FROM [\s\S]+?)\s+ORDER BY h\.singleton_key, ([^)]+?)\s*\),/;
const IS_HEAD = "j.id IN (SELECT id FROM strict_fifo_heads)";

/**
 * pg-boss sorts everything that waits to find the head of each key, at each claim. The same condition, asked of one candidate
 * after the other, is one look into the index: a claim costs the same with ten waiting and with ten thousand. A text
 * that does not look as expected stays as it is.
 */
export function withQuickHeads(text: string): string {
  const [, from, order] = HEADS.exec(text) ?? [];
  if (from === undefined || order === undefined) return text;
  return text.replace(
    IS_HEAD,
    () => `j.id = (SELECT h.id ${from} AND h.singleton_key = j.singleton_key ORDER BY ${order} LIMIT 1)`,
  );
}

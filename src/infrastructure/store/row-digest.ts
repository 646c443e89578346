import { createHash } from "node:crypto";
import type { StoredRow } from "./kept-tables.ts";

/** One figure for any number of rows, whatever their order and whichever store gave them. */
export function createRowDigest() {
  const sum = Buffer.alloc(32);
  let rows = 0;
  return {
    add(row: StoredRow): void {
      const cells = Object.keys(row)
        .sort()
        // Postgres gives large numbers as texts.
        .map((name) => [name, row[name] === null ? null : String(row[name])]);
      const hash = createHash("sha256").update(JSON.stringify(cells)).digest();
      for (let n = 0, carry = 0; n < sum.length; n += 1) {
        const total = (sum[n] as number) + (hash[n] as number) + carry;
        sum[n] = total & 0xff;
        carry = total >> 8;
      }
      rows += 1;
    },
    result: () => ({ rows, digest: sum.toString("hex") }),
  };
}

export type TableDigest = ReturnType<ReturnType<typeof createRowDigest>["result"]>;

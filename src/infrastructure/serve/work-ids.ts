/**
 * UUIDv7: the time, then a number that grows within a millisecond, then chance. Ids of one process sort in the order
 * they were made, which the queue relies on where one transaction adds several pieces of work.
 */
export function createWorkIds(now: () => Date, random: (bytes: number) => Uint8Array): () => string {
  const last = { ms: 0, count: 0 };
  return () => {
    const ms = now().getTime();
    if (ms > last.ms) Object.assign(last, { ms, count: 0 });
    else if (last.count < 0xfff) last.count += 1;
    else Object.assign(last, { ms: last.ms + 1, count: 0 });
    const chance = random(8);
    chance[0] = ((chance[0] as number) & 0x3f) | 0x80;
    const time = last.ms.toString(16).padStart(12, "0");
    const tail = [...chance].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const count = last.count.toString(16).padStart(3, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${tail.slice(0, 4)}-${tail.slice(4)}`;
  };
}

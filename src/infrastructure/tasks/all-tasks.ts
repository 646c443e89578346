import type { TaskReader } from "../../application/ports/web.ts";

/** Tasks of every kind in one list. */
export function allTasks(readers: readonly TaskReader[]): TaskReader {
  return {
    async list(limit) {
      const lists = await Promise.all(readers.map((reader) => reader.list(limit)));
      return lists
        .flat()
        .sort((x, y) => (x.updatedAt < y.updatedAt ? 1 : -1))
        .slice(0, limit);
    },
  };
}

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { EnvironmentRecord, EnvironmentRecords } from "../../application/ports/containers.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { replaceFile } from "../platform/text-files.ts";

/** One folder a task under `environments/tasks/` of PicoClaw's home. */
export function createEnvironmentRecords(home: string): EnvironmentRecords {
  const root = join(home, "environments", "tasks");
  const folder = (taskUuid: string) => join(root, taskUuid);
  const file = (taskUuid: string) => join(folder(taskUuid), "environment.json");
  const read = (taskUuid: string): EnvironmentRecord | null => {
    return attemptOr(null, () => JSON.parse(readFileSync(file(taskUuid), "utf8")) as EnvironmentRecord);
  };
  return {
    read,
    save(record) {
      replaceFile(file(record.info.task_uuid), `${JSON.stringify(record)}\n`);
    },
    remove: (taskUuid) => removeTree(folder(taskUuid)),
    list: () => attemptOr([], () => readdirSync(root)).flatMap((name) => read(name) ?? []),
    folder(taskUuid) {
      mkdirSync(folder(taskUuid), { recursive: true, mode: 0o700 });
      return folder(taskUuid);
    },
  };
}

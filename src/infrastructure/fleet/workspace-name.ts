import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kysely } from "kysely";
import type { Database } from "../store/schema.ts";

/** A machine is a home: its id is a random text in a file there, made by whoever asks first. */
export function readMachineId(home: string): string {
  const file = join(home, "machine-id");
  const known = readIdFile(file);
  if (known !== null) return known;
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const own = `${file}.${crypto.randomUUID()}`;
  writeFileSync(own, `${crypto.randomUUID().replaceAll("-", "")}\n`, { mode: 0o600 });
  try {
    // Of several processes that make it at once, one links first, and all read that one.
    linkSync(own, file);
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readIdFile(file) ?? "";
}

/** Tells a home from its copies: they have the same id. One that is moved within its file system stays the same. */
export function homeMark(home: string): string {
  const { dev, ino } = statSync(home, { bigint: true });
  return `${dev}:${ino}`;
}

function readIdFile(file: string): string | null {
  try {
    const id = readFileSync(file, "utf8").trim();
    return /^[0-9a-f]{32}$/.test(id) ? id : null;
  } catch {
    return null;
  }
}

export interface WorkspaceLocation {
  readonly home: string;
  /** As `database_url`, its reference resolved. */
  readonly databaseUrl: string | undefined;
  readonly root: string;
}

/**
 * What the store calls a workspace. The same path on two machines is two workspaces, so that in a shared store the name
 * begins with the machine.
 */
export function workspaceName({ home, databaseUrl, root }: WorkspaceLocation): string {
  return databaseUrl === undefined ? root : `${readMachineId(home)}:${root}`;
}

/** The machine and the path of such a name. */
export function parseWorkspaceName(name: string): {
  readonly machineId: string | null;
  readonly root: string;
} {
  const parts = /^([0-9a-f]{32}):(.*)$/s.exec(name);
  return parts === null
    ? { machineId: null, root: name }
    : { machineId: parts[1] as string, root: parts[2] as string };
}

const OF_CHATS = ["sessions", "turns", "daily_notes", "chat_settings", "decisions"] as const;

/**
 * In a shared store a workspace was once called by its path alone. What is called so goes to the first machine that
 * opens that path; chats that have gone on under the new name keep what they have.
 */
export async function adoptRoot(db: Kysely<Database>, root: string, name: string): Promise<void> {
  if (root === name || !(await hasOldRows(db, root))) return;
  await db.transaction().execute(async (within) => {
    const begun = await within
      .selectFrom("sessions")
      .select("chat_key")
      .where("workspace", "=", name)
      .distinct()
      .execute();
    for (const table of OF_CHATS) {
      const rows = within.updateTable(table).set({ workspace: name }).where("workspace", "=", root);
      const chats = begun.map(({ chat_key: key }) => key);
      await (chats.length === 0 ? rows : rows.where("chat_key", "not in", chats)).execute();
    }
    await within.updateTable("job_owners").set({ workspace: name }).where("workspace", "=", root).execute();
    // What waits gets new work: its old work is in the queue of the old name, which nobody looks at.
    for (const table of ["messages", "replies"] as const)
      await within
        .updateTable(table)
        .set({ workspace: name, work_id: null })
        .where("workspace", "=", root)
        .execute();
  });
}

async function hasOldRows(db: Kysely<Database>, root: string): Promise<boolean> {
  for (const table of ["messages", "sessions"] as const) {
    const row = await db
      .selectFrom(table)
      .select("workspace")
      .where("workspace", "=", root)
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return true;
  }
  return false;
}

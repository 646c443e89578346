import { lstatSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

/** A folder without a socket may be one that another process is just making. */
const MAKING_MS = 60_000;

/** Removes the folders of key proxies whose process was killed: nobody answers at their sockets any more. */
export async function sweepKeys(below: string, prefix: string, now = Date.now()): Promise<void> {
  const names = readdirSync(below).filter((name) => name.startsWith(prefix));
  await Promise.all(
    names.map(async (name) => {
      const folder = join(below, name);
      const facts = lstatSync(folder, { throwIfNoEntry: false });
      if (facts === undefined || !facts.isDirectory() || facts.uid !== process.getuid?.()) return;
      const answer = await probeSocket(join(folder, "s"));
      if (answer === "refused" || (answer === "missing" && now - facts.mtimeMs > MAKING_MS))
        rmSync(folder, { recursive: true, force: true });
    }),
  );
}

function probeSocket(socket: string): Promise<"open" | "refused" | "missing"> {
  return new Promise((done) => {
    const connection = connect(socket);
    connection.once("connect", () => {
      connection.destroy();
      done("open");
    });
    connection.once("error", ({ code }: NodeJS.ErrnoException) =>
      done(code === "ECONNREFUSED" ? "refused" : code === "ENOENT" ? "missing" : "open"),
    );
  });
}

/**
 * The database goes away at each statement of a message's life, before it is carried out and after: at any
 * point, each message is answered once, in its chat's order, and its changes happen once.
 */
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgres } from "../../src/infrastructure/store/postgres.ts";
import { createServer } from "../adapters/web/web-kit.ts";
import { startPostgres } from "../infrastructure/store/postgres-server.ts";
import { requirePart } from "../require.ts";
import { checkStore, settled } from "../root/fleet/check-store.ts";
import { checkWorkspace } from "../root/fleet/check-workspace.ts";
import { WRITES } from "../root/fleet/say.ts";
import { type CutMoment, startCuttingProxy } from "./cutting-proxy.ts";
import { insist } from "./insist.ts";

const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
const CHATS = 8;
/** Longer than from one beat to the next; a statement that does not come by then needs something else. */
const LOOK_MS = 3_500;
const TOKEN = ["serve", "token", "create", "test", "--json"];

/** The nth of the messages: every other one is a job. */
const nth = (n: number) => ({
  chat: `c${n % CHATS}`,
  text: n % 2 === 0 ? `/code3 write w${n}` : `hello w${n}`,
  event_id: `e${n}`,
});

test.if(requirePart("postgres"))(
  "Postgres goes away at each statement of a message's life",
  async () => {
    const postgres = startPostgres();
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-cut-"));
    const url = postgres.newDatabase();
    const target = `${new URL(url).searchParams.get("host")}/.s.PGSQL.5432`;
    const proxy = await startCuttingProxy(join(folder, ".s.PGSQL.5432"), target);
    const db = openPostgres(url);
    const near = url.replace(/host=.*$/, `host=${encodeURIComponent(folder)}`);
    const server = await createServer({
      script: WRITES,
      config: `database_url: "${near}"\nserve: { rate_limit: 0 }\nchecks: { enabled: never }\n`,
    });
    try {
      server.write("shared.txt", "");
      const before = server.tree();
      // The proxy cannot work while this process waits for another one.
      const made = server.run([...TOKEN, "--user", "alice", "--role", "user", "--scope", "read,chat"], {
        env: { PICOCLAW_DATABASE_URL: url },
      });
      const { token } = JSON.parse(made.out) as { token: string };
      const say = (n: number) => insist(() => server.url, token, nth(n));
      let said = 0;
      await say(said++);
      await settled(db);
      // A start's or a first message's own statements are not asked again.
      proxy.seen.clear();
      while (said < 5) await say(said++);
      await settled(db);
      // Two beats, which are statements as well.
      if (nightly) await Bun.sleep(4_000);
      // By day, only where it is unknown whether what was written stays.
      const kinds = [...proxy.seen].filter((kind) => nightly || kind.endsWith(" › commit"));
      expect(kinds.length).toBeGreaterThan(2);
      const moments: readonly CutMoment[] = nightly ? ["before", "after"] : ["after"];
      let cuts = 0;
      for (const moment of moments)
        for (const kind of kinds) {
          const cut = proxy.cutAt(kind, moment).then(() => {
            cuts += 1;
          });
          await Promise.all([say(said), say(said + 1)]);
          said += 2;
          await Promise.race([cut, Bun.sleep(LOOK_MS)]);
          proxy.spare();
        }
      expect(cuts).toBeGreaterThan(0);
      console.log(`${cuts} of ${moments.length * kinds.length} statements were cut off`);
      console.log(`all answered ${Math.round(await settled(db))} ms after the last`);
      await checkWorkspace(server, await checkStore(db), before);
    } catch (error) {
      console.error(server.errors().slice(-3_000));
      throw error;
    } finally {
      await server.close();
      await db.destroy();
      proxy.close();
      postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
  nightly ? 1_200_000 : 180_000,
);

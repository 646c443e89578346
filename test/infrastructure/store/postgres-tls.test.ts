/** `sslmode=verify-full`: the server must show a certificate for its name, signed by whom the operator trusts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { memoryMessagesFor } from "../../../src/domain/texts/chat.ts";
import { createPgBossEngine } from "../../../src/infrastructure/serve/pg-boss-engine.ts";
import { openMigratedStore } from "../../../src/infrastructure/store/open-store.ts";
import { makeTestFolder } from "../../left-behind.ts";
import { requirePart } from "../../require.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

const TRIES = 3;

function run(program: string, args: readonly string[]): string {
  const done = spawnSync(program, args, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")}: ${done.stderr}`);
  return done.stdout.trim();
}

/** A certificate for `localhost`, signed by a made-up authority, `ca.crt`. */
function makeCertificates(folder: string): void {
  const at = (name: string) => join(folder, name);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  run("openssl", ["req", "-x509", ...key, "-subj", "/CN=ca", "-keyout", at("ca.key"), "-out", at("ca.crt")]);
  run("openssl", ["req", ...key, "-subj", "/CN=localhost", "-keyout", at("key"), "-out", at("request")]);
  writeFileSync(at("names"), "subjectAltName=DNS:localhost\n");
  const signing = ["-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial", "-extfile", at("names")];
  run("openssl", ["x509", "-req", "-in", at("request"), ...signing, "-out", at("crt")]);
  chmodSync(folder, 0o755);
  chmodSync(at("key"), 0o600);
  if (process.getuid?.() !== 0) return;
  const [user, group] = [run("id", ["-u", "postgres"]), run("id", ["-g", "postgres"])];
  chownSync(at("key"), Number(user), Number(group));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.if(requirePart("postgres") && requirePart("openssl"))("a Postgres with TLS", () => {
  const folder = makeTestFolder("tls");
  const server: { postgres?: PostgresServer; port: number } = { port: 0 };
  beforeAll(async () => {
    makeCertificates(folder);
    const tls = `-c ssl=on -c ssl_cert_file=${folder}/crt -c ssl_key_file=${folder}/key`;
    // Another process may take the port in between.
    for (let tried = 1; server.postgres === undefined; tried += 1)
      try {
        server.port = await freePort();
        const more = `-c listen_addresses=127.0.0.1 -c port=${server.port} ${tls}`;
        server.postgres = startPostgres({ more });
      } catch (error) {
        if (tried === TRIES) throw error;
      }
  }, 300_000);
  afterAll(() => {
    server.postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const urlOf = (host: string, trust: string) =>
    `postgres://picoclaw@${host}:${server.port}/postgres?sslmode=verify-full${trust}`;
  const open = (databaseUrl: string) => openMigratedStore({ home: folder, databaseUrl }, () => new Date());

  test("store and queue work where name and signer are right", async () => {
    const url = urlOf("localhost", `&sslrootcert=${folder}/ca.crt`);
    const opened = await open(url);
    expect(opened.ok).toBe(true);
    if (!opened.ok) return;
    const engine = await createPgBossEngine(url, () => {});
    expect(await engine.mayHave(opened.db, { queue: "a" })).toBe(true);
    await engine.close();
    await opened.db.destroy();
  });

  test.each([
    ["another name", "127.0.0.1", "&sslrootcert=CA", "does not match certificate"],
    ["a signer that nobody named", "localhost", "", "certificate"],
  ])("%s is refused, with what to look at", async (_, host, trust, detail) => {
    const opened = await open(urlOf(host, trust.replace("CA", `${folder}/ca.crt`)));
    if (opened.ok) throw new Error("it was trusted");
    expect(opened.trouble).toMatchObject({ kind: "postgres", why: "distrusted" });
    const text = memoryMessagesFor("en").storeUnavailable(opened.trouble);
    expect(text).toContain(detail);
    expect(text).toContain("sslrootcert=FILE");
  });
});

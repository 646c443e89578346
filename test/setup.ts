/** Runs before every suite: no test sees the developer's keys, configuration or home. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";

for (const name of Object.keys(process.env)) {
  if (/(_API_KEY|_TOKEN|_SECRET)$/.test(name)) delete process.env[name];
  if (name.startsWith("PICOCLAW_") && !name.startsWith("PICOCLAW_TEST_")) delete process.env[name];
}
process.env.PICOCLAW_HOME = mkdtempSync(join(tmpdir(), "picoclaw-test-home-"));

// By day the random cases are the same for everybody, so that a red run means a change; by night they are new.
const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
if (!nightly) fc.configureGlobal({ seed: 20_260_301 });

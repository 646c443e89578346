import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CheckMemory, CheckRecord } from "../../application/ports/checks.ts";
import type { CheckResult } from "../../domain/checks/verdict.ts";
import type { TestOutcome, TestResults } from "../../domain/checks/test-results.ts";
import { workspaceId } from "../engine/workspace-register.ts";
import { workspaceFingerprint } from "./fingerprint.ts";

const VERSION = 1;

/** The file `checks/<workspace>.json` in PicoClaw's home. */
export function createCheckMemory({
  home,
  root,
}: {
  readonly home: string;
  readonly root: string;
}): CheckMemory {
  const folder = join(home, "checks");
  const file = join(folder, `${workspaceId(root)}.json`);
  return {
    fingerprint: () => workspaceFingerprint(root),
    recall() {
      try {
        const stored = JSON.parse(readFileSync(file, "utf8")) as Stored;
        return stored.version === VERSION && stored.root === root ? fromStored(stored) : null;
      } catch {
        return null;
      }
    },
    keep(record) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        const next = `${file}.${process.pid}`;
        writeFileSync(next, JSON.stringify(toStored(root, record)), { mode: 0o600 });
        renameSync(next, file);
      } catch {
        // The next baseline is measured again.
      }
    },
  };
}

interface StoredResult extends Omit<CheckResult, "results"> {
  readonly results:
    | (Omit<TestResults, "tests"> & { readonly tests: readonly [string, TestOutcome][] })
    | null;
}

interface Stored extends Omit<CheckRecord, "results"> {
  readonly version: number;
  readonly root: string;
  readonly results: readonly StoredResult[] | null;
}

function toStored(root: string, record: CheckRecord): Stored {
  const results = record.results?.map((one) => ({
    ...one,
    results: one.results === null ? null : { ...one.results, tests: [...one.results.tests] },
  }));
  return { version: VERSION, root, ...record, results: results ?? null };
}

function fromStored({ version: _version, root: _root, ...stored }: Stored): CheckRecord {
  const results = stored.results?.map((one) => ({
    ...one,
    results: one.results === null ? null : { ...one.results, tests: new Map(one.results.tests) },
  }));
  return { ...stored, results: results ?? null };
}

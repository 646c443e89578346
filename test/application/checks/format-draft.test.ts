import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { createProjectChecks, type JudgedAttempt } from "../../../src/application/checks/project-checks.ts";
import { createAdvise } from "../../../src/application/platform/advise.ts";
import type { Draft } from "../../../src/application/ports/jobs-draft.ts";
import type { Workspace } from "../../../src/application/ports/jobs-workspace.ts";
import { notChecked, toChecksRecord } from "../../../src/domain/checks/findings.ts";
import { checksMessagesFor } from "../../../src/domain/texts/checks.ts";
import { createCheckMemory } from "../../../src/infrastructure/checks/check-memory.ts";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, edit, shell } from "../jobs/worker-kit.ts";

const BIOME = join(import.meta.dir, "../../../node_modules/@biomejs");
const STYLED = "export const one = [1, 2, 3];\nexport const two = { a: 1 };\n";
const OTHERS = "export   const one=[1,2,3]\nexport const two = { a: 1 };\n";
const ADDED = "export   const three=[1,2]\n";
const ADDED_STYLED = "export const three = [1, 2];\n";

let bench: Bench;
let workspace: Workspace;

/** A project with one file in the style of its formatter and one in another; the formatter is the one of this repository. */
function makeProject(): void {
  const build = readdirSync(BIOME).find((name) => existsSync(join(BIOME, name, "biome"))) ?? "";
  mkdirSync(bench.path("node_modules/.bin"), { recursive: true });
  copyFileSync(join(BIOME, build, "biome"), bench.path("node_modules/.bin/biome"));
  bench.write("biome.json", '{ "formatter": { "indentStyle": "space" } }\n');
  bench.write("src/styled.ts", STYLED);
  bench.write("src/others.ts", OTHERS);
}

beforeEach(async () => {
  bench = createBench();
  workspace = await bench.open({ PICOCLAW_WORKER_TRANSACTION: "overlay", PICOCLAW_WORKER_CONFINE: "on" });
});
afterEach(() => bench.remove());

async function draftOf(...commands: readonly object[]): Promise<Draft> {
  const signal = new AbortController().signal;
  const opened = await workspace.openDraft({ source: "test", startedBy: "user", checked: true, signal });
  if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
  const ran = await opened.draft.run({ attempt: 1, work: { patch: JSON.stringify(commands) } });
  expect(ran).toMatchObject({ about: "attempt" });
  return opened.draft;
}

function judge(draft: Draft, { format = true } = {}): Promise<JudgedAttempt> {
  const settings = {
    command: null,
    timeout: 60,
    auto_limit: 60,
    network: false,
    enabled: "auto" as const,
    format,
  };
  return createProjectChecks({
    checks: [],
    none: notChecked("no-checks"),
    settings,
    memory: createCheckMemory({ home: join(bench.folder, "home"), root: workspace.root }),
    texts: checksMessagesFor("en"),
    now: () => 0,
    advise: createAdvise(),
    signal: new AbortController().signal,
    hasProgram: (name) => Bun.which(name) !== null,
  }).judge(draft, 1);
}

async function land(...commands: readonly object[]) {
  const draft = await draftOf(...commands);
  const { facts } = await judge(draft);
  return { facts, job: await draft.commit() };
}

const remarks = ({ facts }: Pick<JudgedAttempt, "facts">) => checksMessagesFor("en").remarks(facts);

describe.if(requirePart("bwrap"))("the project's own formatter", () => {
  test("formats a changed file, its job has the one edit of the coder, and an undo restores every byte", async () => {
    makeProject();
    const { facts, job } = await land(edit("update", "src/styled.ts", STYLED + ADDED));
    expect(remarks({ facts })).toEqual(["Formatted: biome"]);
    expect(bench.read("src/styled.ts")).toBe(STYLED + ADDED_STYLED);
    expect(bench.read("src/others.ts")).toBe(OTHERS);
    expect(job).toMatchObject({ outcome: "committed", totalCmds: 1, executedCmds: 1 });
    expect(
      workspace.archive
        .list()
        .at(-1)
        ?.changes.map(({ path }) => path),
    ).toEqual(["src/styled.ts"]);
    await workspace.takeBack({ direction: "undo", name: job.jobId, force: false });
    expect(bench.read("src/styled.ts")).toBe(STYLED);
  });

  test("leaves a file that was in another style before as the coder wrote it", async () => {
    makeProject();
    const { facts } = await land(edit("update", "src/others.ts", OTHERS + ADDED));
    expect(toChecksRecord(facts).formatted).toBeUndefined();
    expect(bench.read("src/others.ts")).toBe(OTHERS + ADDED);
  });

  test("formats new files of any name, and none of a file that was moved from another style", async () => {
    makeProject();
    const odd = "src/it's [id] $x.ts";
    await land(edit("create", odd, ADDED), edit("create", "src/-w.ts", ADDED));
    expect([bench.read(odd), bench.read("src/-w.ts")]).toEqual([ADDED_STYLED, ADDED_STYLED]);
    const { facts } = await land(shell("mv src/others.ts src/moved.ts"));
    expect(toChecksRecord(facts).formatted).toBeUndefined();
    expect(bench.read("src/moved.ts")).toBe(OTHERS);
  });

  test("leaves a file that it cannot read, and formats the others", async () => {
    makeProject();
    const broken = "export const = ;\n";
    await land(edit("create", "src/broken.ts", broken), edit("create", "src/fine.ts", ADDED));
    expect([bench.read("src/broken.ts"), bench.read("src/fine.ts")]).toEqual([broken, ADDED_STYLED]);
  });

  test("is part of a preview", async () => {
    makeProject();
    const draft = await draftOf(edit("update", "src/styled.ts", STYLED + ADDED));
    await judge(draft);
    const kept = await draft.keep();
    expect(bench.read("src/styled.ts")).toBe(STYLED);
    await workspace.commitPreview(kept.jobId);
    expect(bench.read("src/styled.ts")).toBe(STYLED + ADDED_STYLED);
  });

  test("does not run where a setting says so", async () => {
    makeProject();
    const draft = await draftOf(edit("create", "src/new.ts", ADDED));
    await judge(draft, { format: false });
    await draft.commit();
    expect(bench.read("src/new.ts")).toBe(ADDED);
  });
});

describe.if(requirePart("bwrap") && requirePart("gofmt"))("gofmt", () => {
  test("formats the files of a module", async () => {
    bench.write("svc/go.mod", "module example\n");
    const { facts } = await land(
      edit("create", "svc/main.go", "package main\nfunc  main( ) {\nx:=1\n_=x}\n"),
    );
    expect(toChecksRecord(facts).formatted).toEqual(["gofmt"]);
    expect(bench.read("svc/main.go")).toBe("package main\n\nfunc main() {\n\tx := 1\n\t_ = x\n}\n");
  });
});

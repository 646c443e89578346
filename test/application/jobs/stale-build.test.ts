/** Build tools compare times: an edit that is older than what the baseline built must be built all the same. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { requirePart } from "../../require.ts";
import { type Bench, createBench, edit, shell } from "./worker-kit.ts";

const LONG_AGO = new Date("2020-01-01");
const TSC = join(import.meta.dir, "../../../node_modules/.bin/tsc");

interface BuiltProject {
  readonly files: Readonly<Record<string, string>>;
  /** Builds and tests; green only as long as `source` is as it was. */
  readonly command: string;
  readonly source: string;
  readonly broken: string;
  /** The broken file keeps the time of the one that it replaces. */
  readonly keepsTime?: true;
}

/** Not the one of rustup, which looks for its tool chains in the home. */
const CARGO_PROGRAM =
  spawnSync("sh", ["-c", "rustup which cargo"], { encoding: "utf8" }).stdout?.trim() || "cargo";
const CARGO = "[package]\nname = 'p'\nversion = '0.1.0'\nedition = '2021'\n";
const RUST = "pub fn one() -> i32 { 1 }\n#[test]\nfn is_one() { assert_eq!(one(), 1); }\n";
const CMAKE =
  "cmake_minimum_required(VERSION 3.10)\nproject(p C)\nenable_testing()\nadd_executable(p p.c)\nadd_test(p p)\n";
const GO_TEST =
  'package p\n\nimport "testing"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fatal("not one")\n\t}\n}\n';
const TSCONFIG = JSON.stringify({
  compilerOptions: { incremental: true, composite: true, outDir: "out", module: "nodenext", rootDir: "." },
  files: ["p.cts"],
});

const PROJECTS: Readonly<Record<string, BuiltProject>> = {
  make: {
    files: {
      Makefile:
        "out/p: p.txt\n\t@mkdir -p out && cp p.txt out/p\n.PHONY: test\ntest: out/p\n\t@grep -q one out/p\n",
      "p.txt": "one\n",
    },
    command: "make test",
    source: "p.txt",
    broken: "two\n",
  },
  cargo: {
    files: { "Cargo.toml": CARGO, "src/lib.rs": RUST },
    command: `PATH="${dirname(CARGO_PROGRAM)}:$PATH" CARGO_TARGET_DIR=out cargo test --offline --lib`,
    source: "src/lib.rs",
    broken: RUST.replace("{ 1 }", "{ 2 }"),
  },
  cmake: {
    files: { "CMakeLists.txt": CMAKE, "p.c": "int main(void) { return 0; }\n" },
    command: "cmake -S . -B out >/dev/null && cmake --build out >/dev/null && ctest --test-dir out",
    source: "p.c",
    broken: "int main(void) { return 1; }\n",
  },
  go: {
    files: {
      "go.mod": "module p\n\ngo 1.20\n",
      "p.go": "package p\n\nfunc One() int { return 1 }\n",
      "p_test.go": GO_TEST,
    },
    command: "GOCACHE=$PWD/out GOFLAGS=-mod=mod go test ./...",
    source: "p.go",
    broken: "package p\n\nfunc One() int { return 2 }\n",
  },
  node: {
    files: { "tsconfig.json": TSCONFIG, "p.cts": "export const one: number = 1;\n" },
    command: `'${TSC}' -b && node -e 'process.exit(require("./out/p.cjs").one === 1 ? 0 : 1)'`,
    source: "p.cts",
    broken: "export const one: number = 2;\n",
  },
  python3: {
    files: { "p.py": "one = 1\n", "t.py": "import p\nassert p.one == 1\n" },
    command: "PYTHONPYCACHEPREFIX=$PWD/out PYTHONDONTWRITEBYTECODE= python3 t.py",
    source: "p.py",
    broken: "one = 2\n",
    keepsTime: true,
  },
};

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

/** Go compiles its library first. */
const isLong = (tool: string) => tool === "go" && process.env.PICOCLAW_TEST_NIGHTLY !== "1";

for (const [tool, project] of Object.entries(PROJECTS))
  test.if(!isLong(tool) && requirePart("bwrap") && requirePart(tool))(
    `an edit that is older than what ${tool} built is built`,
    async () => {
      for (const [path, text] of Object.entries(project.files)) bench.write(path, text);
      bench.write(".gitignore", "out/\n");
      spawnSync("git", ["init", "-q"], { cwd: bench.workspace, env: bench.environment() });
      const workspace = await bench.open({
        PICOCLAW_WORKER_TRANSACTION: "overlay",
        PICOCLAW_WORKER_CONFINE: "on",
      });
      const signal = new AbortController().signal;
      const opened = await workspace.openDraft({ source: "test", startedBy: "user", checked: true, signal });
      if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
      const { draft } = opened;
      const exitCode = async (over: "draft" | "baseline") => {
        const checked = await draft.check({ commands: [project.command], over, timeoutSeconds: 200 });
        if (!checked.ok) throw new Error(checked.message);
        const [run] = checked.runs;
        return { code: run?.exitCode, output: run?.exitCode === 0 ? "" : run?.output };
      };
      const { source, broken, keepsTime = false } = project;
      utimesSync(bench.path(source), LONG_AGO, LONG_AGO);
      const command = keepsTime
        ? shell(`printf '${broken}' > new && touch -r ${source} new && mv new ${source}`)
        : edit("update", source, broken);
      await draft.run({ attempt: 1, work: { patch: JSON.stringify([command]) } });
      expect(await exitCode("baseline")).toEqual({ code: 0, output: "" });
      expect((await exitCode("draft")).code).not.toBe(0);
      await draft.discard("test");
    },
    300_000,
  );

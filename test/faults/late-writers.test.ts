/** Processes that open a file between the check of a swap and its renames: what they write is never lost. */
import { afterEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { type Change, createBench, type TransactionBench, text } from "../contracts/transaction-bench.ts";
import { requirePart, runs } from "../require.ts";

const benches: TransactionBench[] = [];
afterEach(() => {
  for (const bench of benches.splice(0)) bench.remove();
});

/** Does `act` when the engine comes to a point for the first time; null: not yet. */
function benchWith(points: () => Readonly<Record<string, () => void>> | null): TransactionBench {
  const done = new Set<string>();
  const checkpoint = (name: string) => {
    const point = name.split(" ")[0] as string;
    const acts = points();
    if (acts === null || done.has(point)) return;
    done.add(point);
    acts[point]?.();
  };
  const bench = createBench("direct", { deps: { checkpoint } });
  benches.push(bench);
  return bench;
}

/** Opens a file, and writes to it and ends on command. */
class Writer {
  readonly #marks: string;
  readonly #ended: Promise<unknown>;
  constructor(folder: string, path: string, within: readonly string[] = []) {
    this.#marks = join(folder, "writer");
    const until = (mark: string) =>
      `i=0; until [ -e "$1.${mark}" ] || [ $i = 2000 ]; do i=$((i+1)); sleep 0.01 3>&-; done`;
    const script = `exec 3>>"$0"; : >"$1.open"; ${until("go")}; echo late >&3; exec 3>&-; : >"$1.done"; ${until("end")}`;
    const [program = "sh", ...args] = [...within, "sh", "-c", script, path, this.#marks];
    const child = spawn(program, args, { stdio: "ignore" });
    this.#ended = new Promise((resolve) => child.on("exit", resolve));
    this.#await("open");
  }
  #await(mark: string): void {
    const deadline = performance.now() + 120_000;
    while (!existsSync(`${this.#marks}.${mark}`)) {
      if (performance.now() > deadline) throw new Error(`the writer never came to: ${mark}`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  write(): void {
    writeFileSync(`${this.#marks}.go`, "");
    this.#await("done");
  }
  async end(): Promise<void> {
    if (!existsSync(`${this.#marks}.done`)) this.write();
    writeFileSync(`${this.#marks}.end`, "");
    await this.#ended;
  }
}

/** One that opens `a.txt` at one moment, where it is there, and writes at another, or at the end. */
function lateWriter(opensAt: string, writesAt: string) {
  let writer: Writer | undefined;
  return {
    acts: (bench: TransactionBench): Readonly<Record<string, () => void>> => ({
      ...(opensAt !== writesAt && { [writesAt]: () => writer?.write() }),
      [opensAt]: () => {
        writer = existsSync(bench.at("a.txt")) ? new Writer(bench.folder, bench.at("a.txt")) : undefined;
      },
    }),
    /** Whether there was one. */
    end: async (): Promise<boolean> => {
      await writer?.end();
      return writer !== undefined;
    },
  };
}

type Action = "write" | "remove" | "rename";

/** A job on `z/y.txt` and, in that way, `a.txt`. */
const changing =
  (action: Action): Change =>
  (view) => {
    view.write("z/y.txt", text("yy\n"));
    if (action === "write") view.write("a.txt", text("two\n"));
    else if (action === "remove") view.remove("a.txt");
    else view.rename("a.txt", "moved.txt");
  };

const POINTS = ["checked", "intent", "opened", "exchange", "in", "out", "modes", "swapped"];
/** When it opens, when it writes, what the job does. */
const ANY_MOMENTS = [
  fc.constantFrom(...POINTS),
  fc.constantFrom(...POINTS),
  fc.constantFrom<Action>("write", "remove", "rename"),
] as const;

const whole = { timeout: 300_000 };

describe.if(process.platform === "linux")("a process that opens a file after the check", () => {
  test(
    "and keeps it open is a conflict: nothing is applied, and its later writes are in the workspace",
    async () => {
      let writer: Writer | undefined;
      const bench = benchWith(() => ({
        intent: () => {
          writer = new Writer(bench.folder, bench.at("a.txt"));
        },
      }));
      bench.save("a.txt", "one\n");
      const jobId = await bench.stage((view) => {
        view.write("a.txt", text("two\n"));
        view.write("b.txt", text("b\n"));
      });
      const outcome = await bench.transactions.commit(jobId);
      expect(outcome).toMatchObject({ status: "conflict", conflicts: [{ path: "a.txt", reason: "open" }] });
      await writer?.end();
      expect(bench.read("a.txt")).toBe("one\nlate\n");
      expect(existsSync(bench.at("b.txt"))).toBe(false);
      expect(existsSync(join(bench.storage.folder, "intent.json"))).toBe(false);
    },
    whole,
  );

  test(
    "writes while it is moved, and closes it, is a conflict as well",
    async () => {
      let writer: Writer | undefined;
      const bench = benchWith(() => ({
        intent: () => {
          writer = new Writer(bench.folder, bench.at("a.txt"));
        },
        exchange: () => writer?.write(),
      }));
      bench.save("a.txt", "one\n");
      const jobId = await bench.stage((view) => view.write("a.txt", text("two\n")));
      const outcome = await bench.transactions.commit(jobId);
      expect(outcome).toEqual({ status: "conflict", conflicts: [{ path: "a.txt", reason: "changed" }] });
      await writer?.end();
      expect(bench.read("a.txt")).toBe("one\nlate\n");
    },
    whole,
  );

  test(
    "of a folder that is removed as a whole keeps that folder",
    async () => {
      let writer: Writer | undefined;
      const bench = benchWith(() => ({
        intent: () => {
          writer = new Writer(bench.folder, bench.at("d/e/log"));
        },
      }));
      bench.save("d/e/log", "one\n");
      const jobId = await bench.stage(
        (_, { directory }) => void Bun.spawnSync(["rm", "-rf", "d"], { cwd: directory as string }),
        "copy",
      );
      const outcome = await bench.transactions.commit(jobId);
      expect(outcome).toMatchObject({ status: "conflict", conflicts: [{ path: "d/e/log", reason: "open" }] });
      await writer?.end();
      expect(bench.read("d/e/log")).toBe("one\nlate\n");
    },
    whole,
  );

  test(
    "during an undo is seen too, and --force continues: its writes are kept in the record",
    async () => {
      const bench = benchWith(() => ({}));
      bench.save("a.txt", "one\n");
      const jobId = await bench.apply((view) => view.write("a.txt", text("two\n")));
      const writer = new Writer(bench.folder, bench.at("a.txt"));
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("conflict");
      expect((await bench.transactions.undo(jobId, { force: true })).status).toBe("done");
      expect(bench.read("a.txt")).toBe("one\n");
      await writer.end();
      expect(readFileSync(join(bench.storage.folder, "jobs", jobId, "slots/0.b"), "utf8")).toBe(
        "two\nlate\n",
      );
    },
    whole,
  );

  test(
    "at any time and during any job, loses nothing",
    async () => {
      await fc.assert(
        fc.asyncProperty(...ANY_MOMENTS, async (opensAt, writesAt, action) => {
          const late = lateWriter(opensAt, writesAt);
          const bench = benchWith(() => late.acts(bench));
          bench.save("a.txt", "one\n");
          bench.save("z/y.txt", "y\n");
          const jobId = await bench.stage(changing(action));
          const { status } = await bench.transactions.commit(jobId);
          const wrote = await late.end();
          if (status === "done") {
            // It wrote to what the job had put there.
            if (wrote) expect(bench.read("a.txt")).toBe("two\nlate\n");
          } else {
            expect(bench.read("a.txt")).toBe(wrote ? "one\nlate\n" : "one\n");
            expect(bench.read("z/y.txt")).toBe("y\n");
            expect(existsSync(bench.at("moved.txt"))).toBe(false);
          }
          bench.remove();
        }),
        { numRuns: runs(8) },
      );
    },
    { timeout: 600_000 },
  );

  test(
    "at any time while a job is undone, loses nothing",
    async () => {
      await fc.assert(
        fc.asyncProperty(...ANY_MOMENTS, async (opensAt, writesAt, action) => {
          const late = lateWriter(opensAt, writesAt);
          let armed = false;
          const bench = benchWith(() => (armed ? late.acts(bench) : null));
          bench.save("a.txt", "one\n");
          bench.save("z/y.txt", "y\n");
          const jobId = await bench.apply(changing(action));
          armed = true;
          const { status } = await bench.transactions.undo(jobId, { force: false });
          const added = (await late.end()) ? "late\n" : "";
          if (status === "done") {
            expect(bench.read("a.txt")).toBe(`one\n${added}`);
            expect([bench.read("z/y.txt"), existsSync(bench.at("moved.txt"))]).toEqual(["y\n", false]);
          } else {
            if (action === "write") expect(bench.read("a.txt")).toBe(`two\n${added}`);
            expect(bench.read("z/y.txt")).toBe("yy\n");
          }
          bench.remove();
        }),
        { numRuns: runs(6) },
      );
    },
    { timeout: 600_000 },
  );
});

describe.if(process.platform === "linux" && requirePart("bwrap"))(
  "a process that sees the workspace under another path",
  () => {
    const within = (bench: TransactionBench, at: string) => [
      "bwrap",
      "--dev-bind",
      "/",
      "/",
      "--bind",
      bench.workspace,
      at,
    ];

    for (const change of ["rm -rf d", "echo two >d/log"])
      test(
        `has its file open for writing: ${change} is a conflict`,
        async () => {
          const bench = benchWith(() => ({}));
          bench.save("d/log", "one\n");
          bench.save("../elsewhere/d/log", "another\n");
          const elsewhere = join(bench.folder, "elsewhere");
          const writer = new Writer(bench.folder, join(elsewhere, "d/log"), within(bench, elsewhere));
          const jobId = await bench.stage(
            (_, { directory }) => void Bun.spawnSync(["sh", "-c", change], { cwd: directory as string }),
            "copy",
          );
          const outcome = await bench.transactions.commit(jobId);
          expect(outcome.status).toBe("conflict");
          // A shell that is just starting something holds it open twice.
          const held = outcome.status === "conflict" ? outcome.conflicts : [];
          expect(new Set(held.map(({ path, reason }) => `${path} ${reason}`))).toEqual(
            new Set(["d/log open"]),
          );
          await writer.end();
          expect(bench.read("d/log")).toBe("one\nlate\n");
        },
        whole,
      );
  },
);

describe.if(process.platform === "linux")(
  "a process that has a file in its memory and no descriptor of it",
  () => {
    const SCRIPT = `const bytes = Bun.mmap(process.argv[1]); process.stdout.write("mapped"); await Bun.stdin.text(); bytes[0] = 77;`;

    // For a few files the kernel is asked one by one, for many every process with open files.
    test.each([
      ["among a few", 1],
      ["among many", 201],
    ])("%s files of a job is a conflict, and its later writes are in the workspace", async (_, others) => {
      const bench = createBench("direct");
      benches.push(bench);
      bench.save("db", "one\n");
      for (let i = 0; i < others; i++) bench.save(`more/${i}`, "old\n");
      const jobId = await bench.stage((view) => {
        view.write("db", text("two\n"));
        for (let i = 0; i < others; i++) view.write(`more/${i}`, text("new\n"));
      });
      const child = Bun.spawn([process.execPath, "--no-env-file", "-e", SCRIPT, bench.at("db")], {
        stdin: "pipe",
        stdout: "pipe",
      });
      await child.stdout.getReader().read();
      const outcome = await bench.transactions.commit(jobId);
      child.stdin.end();
      await child.exited;
      expect(outcome).toMatchObject({ status: "conflict", conflicts: [{ path: "db", reason: "open" }] });
      expect(bench.read("db")).toBe("Mne\n");
    });
  },
);

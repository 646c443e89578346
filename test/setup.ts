/** Runs before every suite: no test sees the developer's keys, configuration or home. */
import { afterAll, mock, setDefaultTimeout } from "bun:test";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { plugin } from "bun";
import fc from "fast-check";
import * as installed from "../src/infrastructure/platform/installation.ts";
import { removeTree } from "../src/infrastructure/platform/remove-tree.ts";
import { isBundleFresh } from "./fresh-bundle.ts";
import { clearLeftovers, findOwnLeftovers, noteTestFile, openTestFolder } from "./left-behind.ts";
import { needsEngine } from "./require.ts";

for (const name of Object.keys(process.env)) {
  if (/(_API_KEY|_TOKEN|_SECRET)$/.test(name)) delete process.env[name];
  if (name.startsWith("PICOCLAW_") && !name.startsWith("PICOCLAW_TEST_")) delete process.env[name];
}
/** The runtime gives a hook five seconds: on a busy machine the look at all processes, twice, takes longer. */
const LONGEST_LOOK_MS = 60_000;
const testFolder = openTestFolder();
const ownHome = `${testFolder}-home`;
mkdirSync(ownHome);
process.env.PICOCLAW_HOME = ownHome;

// After each file nothing of it is left: asked when the next one is loaded, or at the end.
const at = { file: "", usedSeconds: 0, containerSeconds: containerSeconds(), isInContainers: false };
const left: string[] = [];
const look = async () => {
  const used = processorSeconds();
  const inContainers = containerSeconds();
  const seconds = used - at.usedSeconds + (at.isInContainers ? inContainers - at.containerSeconds : 0);
  if (process.env.PICOCLAW_TEST_RUN) console.error(`processor seconds: ${at.file} ${seconds.toFixed(1)}`);
  at.usedSeconds = used;
  at.containerSeconds = inContainers;
  for (const one of await clearLeftovers(testFolder)) left.push(`${at.file} left ${one}`);
};
afterAll(async () => {
  await look();
  for (const one of await findOwnLeftovers())
    left.push(`${at.file} (or a file before it in this process) left ${one}`);
  removeTree(testFolder);
  removeTree(ownHome);
  // Everything is fatal in the full run of an ordinary user, and by night. Elsewhere a folder is named.
  const isFullRun = process.getuid?.() !== 0 && (process.env.PICOCLAW_TEST_BRIEF ?? "") === "";
  const isFatal = (line: string) => nightly || isFullRun || !/ left (?:folder|file|socket) /.test(line);
  for (const line of left.filter((one) => !isFatal(one))) console.log(`left behind: ${line}`);
  const fatal = left.filter(isFatal);
  if (fatal.length > 0) throw new Error(`left behind:\n${fatal.join("\n")}`);
}, LONGEST_LOOK_MS);

/** Of this process and its children that have ended. */
function processorSeconds(): number {
  if (process.platform !== "linux") return 0;
  const stat = readFileSync("/proc/self/stat", "utf8");
  const [user, system, childUser, childSystem] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15);
  return [user, system, childUser, childSystem].reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
}

/** Of every container, where the kernel counts it: those of a file that runs beside this one are among them. */
function containerSeconds(): number {
  if (!process.env.PICOCLAW_TEST_ENGINE) return 0;
  const read = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : undefined);
  const nanoseconds = read("/sys/fs/cgroup/cpuacct/docker/cpuacct.usage");
  const microseconds = /^usage_usec (\d+)$/m.exec(read("/sys/fs/cgroup/docker/cpu.stat") ?? "")?.[1];
  return nanoseconds === undefined ? Number(microseconds ?? 0) / 1e6 : Number(nanoseconds) / 1e9;
}

// The limit of each test, for `npm test` and for a plain `bun test` alike. The runtime's default is 5 s, `bunfig.toml` has no key
// for another, and one that is set while this file loads would hold for the first test file alone.
const LONGEST_TEST_MS = 300_000;
plugin({
  name: "limit of each test",
  setup: (build) =>
    void build.onLoad({ filter: /\.test\.ts$/ }, async ({ path }) => {
      if (at.file !== "") await look();
      const contents = await Bun.file(path).text();
      at.file = relative(program, path);
      at.isInContainers = needsEngine(contents);
      noteTestFile(testFolder, at.file);
      setDefaultTimeout(LONGEST_TEST_MS);
      return { contents, loader: "ts" };
    }),
});

// By day the random cases are the same on every machine, so that a red run means a change; by night they are new.
const nightly = process.env.TEST_NIGHTLY === "1" || process.env.PICOCLAW_TEST_NIGHTLY === "1";
if (!nightly) fc.configureGlobal({ seed: 20_260_301 });

// The processes that a job starts beside this one are PicoClaw itself: as users have it, which is half of the work, where
// `npm ci` made a bundle that no source is newer than. Threads of this process, and the proxy that it packs, stay
// those of the sources.
const program = join(import.meta.dir, "..");
if (isBundleFresh()) {
  const { findInstallation, readProxyFiles, threadEntry } = installed;
  mock.module("../src/infrastructure/platform/installation.ts", () => ({
    ...installed,
    findInstallation: () => ({ ...findInstallation(), executor: "dist/wiring/executor.js" }),
    readProxyFiles: (place: Parameters<typeof readProxyFiles>[0]) =>
      readProxyFiles({ ...place, bundled: false }),
    threadEntry: (found: installed.Installation, name: "limited" | "container-files") =>
      threadEntry({ ...found, executor: "src/wiring/executor.ts" }, name),
  }));
}

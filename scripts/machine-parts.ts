/**
 * Which test files touch a part that machines differ in (a start of bubblewrap, Docker or zsh, a control group, Landlock, a user
 * namespace), recorded by `npm test` with PICOCLAW_TEST_RECORD=1 and kept in `test/machine-parts.json`. A test that
 * gives the same result everywhere need not run everywhere: beside a full run, another machine runs the files that are about it
 * or that the record does not know, a third of those that touch a part in which it differs, another third each day, and a tenth of
 * the others. Files that touch no more than every job does, or that are only skipped there, are of the others.
 */
import { basename } from "node:path";

/** What a file touches, by the file's path from the repository's root. */
export interface PartsRecord {
  /** The day of the oldest entry, as YYYY-MM-DD. */
  readonly since: string;
  readonly touches: Readonly<Record<string, readonly string[]>>;
}

/** One line a file, so that a change of the record can be read. */
export function writeRecord({ since, touches }: PartsRecord): string {
  const lines = Object.entries(touches).map(([file, parts]) => [file, parts.join(" ")]);
  return `${JSON.stringify({ since, touches: Object.fromEntries(lines) }, undefined, 2)}\n`;
}

export function readRecord(text: string): PartsRecord {
  const { since, touches } = JSON.parse(text) as { since: string; touches: Record<string, string> };
  const lines = Object.entries(touches).map(([file, parts]) => [file, parts.split(" ").filter(Boolean)]);
  return { since, touches: Object.fromEntries(lines) };
}

/** An older record selects nothing: every file runs. */
const OLDEST_DAYS = 45;
const DAY_MS = 86_400_000;
/** In so many days each file has had its turn. */
const THIRD = 3;
const TENTH = 10;
/** What the sandbox of any job touches, with bubblewrap or without: a file that touches no more is one of many that run a job. */
const OF_EVERY_JOB = ["bwrap", "landlock", "mount", "namespaces", "uid"];
/** The sandbox is what these are about. */
const OF_THE_SANDBOX = /^test\/(?:contracts|faults|hostile|infrastructure\/sandbox)\//;
/** The user, the missing part or the refused namespace is what these are about, and they run every day. */
const OF_THE_MACHINE = /^test\/(?:root|faults\/useless-bubblewrap|hostile\/limited)\b/;

/** Programs that a machine with Node, npm and git alone lacks, or that behave there in another way. */
const PROGRAMS: Readonly<Record<string, string>> = {
  bwrap: "bwrap",
  unshare: "namespaces",
  nsenter: "namespaces",
  newuidmap: "namespaces",
  docker: "docker",
  dockerd: "docker",
  zsh: "zsh",
  rg: "rg",
  initdb: "postgres",
  postgres: "postgres",
  psql: "postgres",
  chromium: "chromium",
  setfattr: "attr",
  getfattr: "attr",
  setfacl: "acl",
  getfacl: "acl",
  ps: "ps",
  pgrep: "ps",
  python3: "python3",
  make: "make",
  openssl: "openssl",
  curl: "curl",
  sqlite3: "sqlite3",
  "mkfs.ext4": "mount",
  mount: "mount",
  umount: "mount",
  sudo: "uid",
  su: "uid",
  runuser: "uid",
  setpriv: "uid",
};

/** The kernel's calls that only some machines allow, or that only root may make. */
const CALLS: Readonly<Record<string, string>> = {
  landlock_create_ruleset: "landlock",
  landlock_restrict_self: "landlock",
  unshare: "namespaces",
  mount: "mount",
  setuid: "uid",
  setresuid: "uid",
  setgroups: "uid",
  chown: "uid",
  lchown: "uid",
  fchown: "uid",
  fchownat: "uid",
};
/** Made under /sys/fs/cgroup, a folder is a control group. */
const MAKES_FOLDER = ["mkdir", "mkdirat"];

/** What `strace` has to follow. */
export const TRACED = ["execve", "execveat", ...Object.keys(CALLS), ...MAKES_FOLDER].join(",");

/**
 * A test depends on the user who runs it where it names a user, an owner or a refusal, or takes a right from the owner: root has it
 * all the same. A mode that gives the owner read and write, as that of a program, is the same for both.
 */
const NAMES_A_RIGHT =
  /getuid|geteuid|EACCES|EPERM|chown|cgroup|chmod[^;\n]{0,80}?\b(?:0o?)?(?:0|[0-5][0-7]{2}|[2-7][0-7]{3})\b/;
const NEEDS_A_PART = /requirePart\("([a-z0-9-]+)"\)/g;

/** The parts that a test's own text names. The machine that recorded may have lacked them, and the test was skipped. */
function partsNamed(text: string): readonly string[] {
  const needed = [...text.matchAll(NEEDS_A_PART)].map(([, part = ""]) => part);
  return NAMES_A_RIGHT.test(text) ? [...needed, "uid"] : needed;
}

/** The parts in an output of `strace -f -e trace=…` for one test file. */
export function readParts(trace: string): readonly string[] {
  const parts = new Set<string>();
  for (const line of trace.split("\n")) {
    const [, call = "", rest = ""] = /^\d+ +(\w+)\((.*)$/.exec(line) ?? [];
    const part = call.startsWith("exec") ? PROGRAMS[programOf(rest)] : CALLS[call];
    if (part !== undefined) parts.add(part);
    if (MAKES_FOLDER.includes(call) && rest.includes('"/sys/fs/cgroup/')) parts.add("cgroup");
  }
  return [...parts].sort();
}

function programOf(args: string): string {
  return basename(/"([^"]*)"/.exec(args)?.[1] ?? "");
}

interface Machine {
  /** Whether it differs from the full one in this part. */
  readonly differs: (part: string) => boolean;
  /** Whether it lacks this part, so that tests that require it are skipped. */
  readonly lacks: (part: string) => boolean;
}

/** The machines of `.ci/run` beside the full one. */
const MACHINES: Readonly<Record<string, Machine>> = {
  // Its user is an ordinary one, as on the full machine.
  bare: { differs: (part) => part !== "uid", lacks: () => true },
  root: {
    differs: (part) => ["bwrap", "cgroup", "landlock", "mount", "namespaces", "uid"].includes(part),
    lacks: () => false,
  },
  "no-namespaces": {
    differs: (part) => ["bwrap", "landlock", "namespaces"].includes(part),
    lacks: (part) => part === "bwrap",
  },
};

/** How often a file runs on a machine: one day in so many. */
function turnOf(machine: Machine, file: string, given: { touched: readonly string[]; text: string }): number {
  if (OF_THE_MACHINE.test(file)) return 1;
  const { differs, lacks } = machine;
  const named = partsNamed(given.text);
  const found = [...new Set([...given.touched, ...named])].filter(differs);
  if (found.length === 0) return TENTH;
  const required = named.filter((part) => part !== "uid");
  const isSkipped = (part: string) =>
    required.some((one) => lacks(one) && (one === part || (one === "bwrap" && OF_EVERY_JOB.includes(part))));
  const namesRight = named.includes("uid") && differs("uid");
  if (namesRight || OF_THE_SANDBOX.test(file)) return THIRD;
  return found.every((part) => isSkipped(part) || OF_EVERY_JOB.includes(part)) ? TENTH : THIRD;
}

export interface Selection {
  readonly files: readonly string[];
  /** One line for the log. */
  readonly why: string;
}

/**
 * The files to run on `machine`. A file that the record does not know is run, and so is each file where the record is too old;
 * an unknown machine differs in every part.
 */
export function selectFiles(
  files: readonly string[],
  given: {
    readonly machine: string;
    readonly record: PartsRecord | undefined;
    /** YYYY-MM-DD */
    readonly today: string;
    readonly readText: (file: string) => string;
  },
): Selection {
  const { record, today, readText } = given;
  if (record === undefined) return { files, why: "all files: there is no record of what they touch" };
  const days = (Date.parse(today) - Date.parse(record.since)) / DAY_MS;
  if (!(days <= OLDEST_DAYS))
    return { files, why: `all files: the record of what they touch is of ${record.since} (npm run record)` };
  const machine = MACHINES[given.machine] ?? { differs: () => true, lacks: () => false };
  const turns = files.map((file) => {
    const touched = record.touches[file];
    const every = touched === undefined ? 1 : turnOf(machine, file, { touched, text: readText(file) });
    // Another day on each machine.
    const offset = Bun.hash.crc32(`${given.machine} ${file}`);
    return { file, every, isDrawn: (Date.parse(today) / DAY_MS + offset) % every === 0 };
  });
  const drawn = turns.filter(({ isDrawn }) => isDrawn);
  const count = (every: number) => {
    const all = turns.filter((one) => one.every === every).length;
    return `${drawn.filter((one) => one.every === every).length}${every === 1 ? "" : ` of ${all}`}`;
  };
  return {
    files: drawn.map(({ file }) => file),
    why: `${count(1)} files that are about this machine or that the record does not know, ${count(THIRD)} that touch a part in which it differs, ${count(TENTH)} others`,
  };
}

/** What was found now, beside what is still true of the earlier record. */
export function mergeRecord(
  earlier: PartsRecord | undefined,
  found: PartsRecord["touches"],
  given: { readonly files: readonly string[]; readonly today: string },
): PartsRecord {
  const kept = Object.entries(earlier?.touches ?? {}).filter(
    ([file]) => given.files.includes(file) && !(file in found),
  );
  const entries = [...kept, ...Object.entries(found)].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    since: kept.length > 0 && earlier !== undefined ? earlier.since : given.today,
    touches: Object.fromEntries(entries),
  };
}

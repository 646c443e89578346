/**
 * What `.ci/run` runs by day: the record of the test files (`test/machine-parts.json`), and whose turn it is. The record keeps which
 * files touch a part that machines differ in (a start of bubblewrap, Docker or zsh, a control group, Landlock, a user namespace),
 * what each costs, and a hash of its text. A test that gives the same result everywhere need not run everywhere: beside the full
 * machine, another one runs the files that are about it, a third of those that touch a part in which it differs, another third each
 * day, and a tenth of the others. Files that touch no more than every job does, or that are only skipped there, are of the others.
 * A costly file has its turn a sixth as often on the full machine, a quarter as often on the others. One that is new runs on every
 * machine, and so does one that changed; costly ones of those keep their turn on the other machines once they would take too long,
 * unless the run is to be whole.
 */
import { basename } from "node:path";

export interface FileRecord {
  /** Of the text that ran on every machine, or `NOT_RUN`. */
  readonly hash: string;
  /** Of processors, its child processes and containers included. */
  readonly seconds: number;
  /** The parts. */
  readonly touches: readonly string[];
}

/** The hash of a file of which no text has run on every machine. */
export const NOT_RUN = "new";

/** By the file's path from the repository's root. */
export interface PartsRecord {
  /** The day of the oldest entry, as YYYY-MM-DD. */
  readonly since: string;
  readonly files: Readonly<Record<string, FileRecord>>;
}

/** One line a file, so that a change of the record can be read. */
export function writeRecord({ since, files }: PartsRecord): string {
  const lines = Object.entries(files).map(([file, { hash, seconds, touches }]) => [
    file,
    [hash, seconds.toFixed(1), ...touches].join(" "),
  ]);
  return `${JSON.stringify({ since, files: Object.fromEntries(lines) }, undefined, 2)}\n`;
}

export function readRecord(text: string): PartsRecord {
  const { since, files } = JSON.parse(text) as { since: string; files: Record<string, string> };
  const lines = Object.entries(files).map(([file, line]) => {
    const [hash = "", seconds, ...touches] = line.split(" ");
    return [file, { hash, seconds: Number(seconds), touches }];
  });
  return { since, files: Object.fromEntries(lines) };
}

export function hashText(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex").slice(0, 12);
}

/** An older record selects nothing: every file runs. */
const OLDEST_DAYS = 45;
const DAY_MS = 86_400_000;
/** In so many days each file has had its turn. */
const THIRD = 3;
const TENTH = 10;
/** A file that takes so many processor seconds is costly, and has its turn once where a cheap one has so many. */
const COSTLY_SECONDS = 2;
const RARER = { full: 6, others: 4 };
/** Changed costly files may take so many processor seconds on one of the other machines: a submission has ten minutes. */
const CHANGED_SECONDS = 40;
/** What the sandbox of any job touches, with bubblewrap or without: a file that touches no more is one of many that run a job. */
const OF_EVERY_JOB = ["bwrap", "landlock", "mount", "namespaces", "uid"];
/** The sandbox is what these are about. */
const OF_THE_SANDBOX = /^test\/(?:contracts|faults|hostile|infrastructure\/sandbox)\//;
/** The user, the missing part or the refused namespace is what these are about, and they run every day, those that are costly a quarter as often. */
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

/** How often a cheap file runs on a machine: one day in so many. */
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

/** The machine where every part is: its files take turns by their cost alone. */
export const FULL_MACHINE = "full";

/** Whether it is a file's turn on a day, one day in `every`. The day follows from the name alone, so no other file moves it. */
function hasTurn({ file, every }: { readonly file: string; readonly every: number }, day: number): boolean {
  return Bun.hash.crc32(file) % every === day % every;
}

export interface Selection {
  readonly files: readonly string[];
  /** One line for the log. */
  readonly why: string;
}

/**
 * The files to run on `machine`. A file that the record does not know, or knows with another text, is run, and so is each file where
 * the record is too old; an unknown machine differs in every part.
 */
export function selectFiles(
  files: readonly string[],
  given: {
    readonly machine: string;
    readonly record: PartsRecord | undefined;
    /** YYYY-MM-DD */
    readonly today: string;
    /** Every changed file runs, regardless of its cost. Only such a run can be recorded. */
    readonly isWhole?: boolean;
    readonly readText: (file: string) => string;
  },
): Selection {
  const { record, today, readText } = given;
  if (record === undefined) return { files, why: "all files: there is no record of them" };
  const days = (Date.parse(today) - Date.parse(record.since)) / DAY_MS;
  if (!(days <= OLDEST_DAYS))
    return { files, why: `all files: the record of them is of ${record.since} (npm run record -- test)` };
  const isFull = given.machine === FULL_MACHINE;
  const machine = MACHINES[given.machine] ?? { differs: () => true, lacks: () => false };
  const rarer = isFull ? RARER.full : RARER.others;
  const isNew = new Set<string>();
  const turns = files.flatMap((file) => {
    const text = readText(file);
    const known = record.files[file];
    if (known?.hash !== hashText(text)) isNew.add(file);
    if (known === undefined) return [];
    const { seconds, touches } = known;
    const every = isFull ? 1 : turnOf(machine, file, { touched: touches, text });
    return { file, seconds, every: seconds < COSTLY_SECONDS ? every : every * rarer };
  });
  if (!isFull && given.isWhole !== true) {
    const costly = turns.filter(({ file, seconds }) => isNew.has(file) && seconds >= COSTLY_SECONDS);
    let spent = 0;
    for (const { file, seconds } of costly.sort((a, b) => a.seconds - b.seconds)) {
      if (record.files[file]?.hash === NOT_RUN) continue;
      spent += seconds;
      if (spent > CHANGED_SECONDS) isNew.delete(file);
    }
  }
  // Another day on each machine.
  const day = Date.parse(today) / DAY_MS + Bun.hash.crc32(given.machine);
  const drawn = new Set(turns.filter((turn) => hasTurn(turn, day)).map(({ file }) => file));
  const selected = files.filter((file) => isNew.has(file) || drawn.has(file));
  const shares = [...new Set(turns.map(({ every }) => every))]
    .sort((a, b) => a - b)
    .map((every) => {
      const those = turns.filter((turn) => turn.every === every);
      const share = those.filter(({ file }) => drawn.has(file) && !isNew.has(file)).length;
      return every === 1
        ? `${share} of every day`
        : `${share} of the ${those.length} that run every ${every} days`;
    });
  return {
    files: selected,
    why: `${selected.length} of ${files.length} files: ${[`${isNew.size} new or changed`, ...shares].join(", ")}; ${files.length - selected.length} are left to other days (npm test, or PICOCLAW_TEST_WHOLE=1 .ci/run, runs all)`,
  };
}

/** What was found now, beside what is still true of the earlier record. */
export function mergeRecord(
  earlier: PartsRecord | undefined,
  found: PartsRecord["files"],
  given: { readonly files: readonly string[]; readonly today: string },
): PartsRecord {
  const kept = Object.entries(earlier?.files ?? {}).filter(
    ([file]) => given.files.includes(file) && !(file in found),
  );
  const entries = [...kept, ...Object.entries(found)].sort(([a], [b]) => (a < b ? -1 : 1));
  // Only root can record root's own tests, and they alone do not make a record old.
  const isOlder = kept.some(([file]) => !file.startsWith("test/root/"));
  return {
    since: isOlder && earlier !== undefined ? earlier.since : given.today,
    files: Object.fromEntries(entries),
  };
}

/**
 * The same with what a run of all machines found. A file whose touches are not recorded stays unknown. A cost that is about the
 * same stays as it is, so that a change of the record can be read.
 */
export function mergeRun(
  record: PartsRecord,
  ran: Readonly<Record<string, Pick<FileRecord, "hash" | "seconds">>>,
): PartsRecord {
  const files = Object.entries(record.files).map(([file, known]) => {
    const { hash, seconds } = ran[file] ?? known;
    const isSimilar = Math.abs(seconds - known.seconds) < Math.max(1, known.seconds / 4);
    return [file, { ...known, hash, seconds: isSimilar ? known.seconds : seconds }];
  });
  return { ...record, files: Object.fromEntries(files) };
}

/**
 * The table of machines in `docs/install.md` and `docs/ja/install.md`: `machine-table.ts NAME LOG` puts in the row of one
 * machine, from the log that `test/real/machines.sh` wrote of its `npm test`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LANGUAGES = ["en", "ja"] as const;
type Language = (typeof LANGUAGES)[number];
const PAGES: Readonly<Record<Language, string>> = { en: "docs/install.md", ja: "docs/ja/install.md" };

/** In the order of the table. */
const MACHINES: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  "root-bare": { en: "root; Node, npm and git alone", ja: "root。Node・npm・git のみ" },
  "user-bare": { en: "an ordinary user; Node, npm and git alone", ja: "一般ユーザー。Node・npm・git のみ" },
  "root-container": { en: "root in a default Docker container", ja: "既定の Docker コンテナ内の root" },
  "root-container-bwrap": {
    en: "root in a default Docker container, with bubblewrap",
    ja: "既定の Docker コンテナ内の root、bubblewrap あり",
  },
  "no-namespaces": {
    en: "bubblewrap installed, but user namespaces forbidden",
    ja: "bubblewrap はあるが、ユーザー名前空間は禁止",
  },
  user: { en: "an ordinary user; everything installed", ja: "一般ユーザー。すべて導入済み" },
  root: { en: "root; everything installed", ja: "root。すべて導入済み" },
  "node-20": { en: "Node 20: `npm ci`, demo, server", ja: "Node 20: `npm ci`、デモ、サーバー" },
  "node-22": { en: "Node 22: `npm ci`, demo, server", ja: "Node 22: `npm ci`、デモ、サーバー" },
  "node-24": { en: "Node 24: `npm ci`, demo, server", ja: "Node 24: `npm ci`、デモ、サーバー" },
};
const HEAD: Readonly<Record<Language, readonly string[]>> = {
  en: ["machine", "`npm test`", "jobs run in", "commands are confined", "skipped for want of"],
  ja: ["マシン", "`npm test`", "ジョブの実行場所", "コマンドの隔離", "無いためスキップ"],
};
const PLACES: Readonly<Record<string, Readonly<Record<Language, string>>>> = {
  overlay: { en: "an overlay", ja: "オーバーレイ" },
  copy: { en: "a copy", ja: "コピー" },
};
const YES_NO: Readonly<Record<Language, readonly [string, string]>> = {
  en: ["yes", "no"],
  ja: ["あり", "なし"],
};

export interface MachineRun {
  readonly counts: string;
  /** As `doctor` says: "overlay", "copy", or "" where it was not asked. */
  readonly place: string;
  readonly confined: boolean | null;
  readonly lacks: readonly string[];
}

export function readRun(log: string): MachineRun {
  const lines = log.split("\n");
  const checks = lines.find((line) => line.startsWith('{"checks":'));
  const found = checks === undefined ? [] : (JSON.parse(checks) as { checks: Check[] }).checks;
  const check = (name: string) => found.find((each) => each.name === name);
  const skips = lines.map((line) => /^skipped: (\S+) /.exec(line)?.[1] ?? "").filter(Boolean);
  return {
    counts: lines.findLast((line) => /^\d+ passed, \d+ failed$/.test(line)) ?? "no count",
    place: /^\S+: (\w+)/.exec(check("transaction")?.text ?? "")?.[1] ?? "",
    confined: check("promise-confined")?.ok ?? null,
    lacks: [...new Set(skips)].sort(),
  };
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
}

/** The page with this machine's row, beside the rows that it has. */
export function putRow(page: string, language: Language, name: string, run: MachineRun): string {
  const rows = new Map<string, string>();
  const mark = /<!-- machines -->\n[\s\S]*?<!-- \/machines -->/;
  const table = mark.exec(page)?.[0];
  if (table === undefined) throw new Error(`no table of machines in ${PAGES[language]}`);
  for (const line of table.split("\n")) {
    const found = Object.keys(MACHINES).find((each) => line.startsWith(`| ${MACHINES[each]?.[language]} |`));
    if (found !== undefined) rows.set(found, line);
  }
  const { counts, place, confined, lacks } = run;
  const title = MACHINES[name]?.[language];
  if (title === undefined) throw new Error(`no machine is called ${name}`);
  const [yes, no] = YES_NO[language];
  const isConfined = confined === null ? "" : confined ? yes : no;
  const cells = [title, counts, PLACES[place]?.[language] ?? place, isConfined, lacks.join(", ")];
  rows.set(name, toLine(cells));
  const sorted = Object.keys(MACHINES).flatMap((each) => rows.get(each) ?? []);
  const head = HEAD[language];
  const lines = [toLine(head), `|${"---|".repeat(head.length)}`, ...sorted];
  return page.replace(mark, () => `<!-- machines -->\n${lines.join("\n")}\n<!-- /machines -->`);
}

function toLine(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell || "–").join(" | ")} |`;
}

if (import.meta.main) {
  const [name = "", log = ""] = process.argv.slice(2);
  const run = readRun(readFileSync(log, "utf8"));
  for (const language of LANGUAGES) {
    const page = join(import.meta.dir, "..", PAGES[language]);
    writeFileSync(page, putRow(readFileSync(page, "utf8"), language, name, run));
  }
}

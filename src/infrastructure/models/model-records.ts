/**
 * The records of local models' answers, in one file of the home. In: the form of an answer and what became of it, and how long it
 * took. Out: the counts by form and the speed, for the next request. Invariant: a record belongs to one identity of a model behind one
 * name, and the file stays small; a file that cannot be read or written costs nothing but the knowledge.
 */
import { join } from "node:path";
import type {
  AnswerOutcome,
  Model,
  ModelRecord,
  ModelRecords,
  SeenAnswer,
} from "../../application/ports/models.ts";
import type { AnswerForm } from "../../domain/models/model-facts.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { readTextFile, replaceFile } from "../platform/text-files.ts";

/** Models that are remembered; the one that was asked longest ago goes first. */
const MOST_MODELS = 40;
/** Answers of a form that are counted before older ones count half. */
const MOST_COUNTED = 40;
const IDENTITY_MS = 1_000;
/** A shorter text says little about a speed: fixed costs outweigh it. */
const LEAST_READ = 200;
const LEAST_WRITTEN = 20;

const FORMS: readonly AnswerForm[] = ["whole", "edits", "json"];
const OUTCOMES: readonly AnswerOutcome[] = ["read", "unread", "endless", "green"];

const FILE = "models-seen.json";

export function createModelRecords(home: string, now: () => Date): ModelRecords {
  const file = join(home, FILE);
  const identities = new Map<string, Promise<string>>();
  const identityOf = (model: Model) => {
    const name = nameOf(model);
    const known = identities.get(name) ?? identify(model);
    identities.set(name, known);
    return known;
  };
  const recall = async (model: Model) => {
    const record = readModelRecords(home)[nameOf(model)];
    return record !== undefined && record.identity === (await identityOf(model)) ? record : null;
  };
  return {
    recall,
    async note(model, seen) {
      const identity = await identityOf(model);
      const before = (await recall(model)) ?? { identity, at: "", forms: {}, reads: 0, writes: 0 };
      const record = { ...withSeen(before, seen), identity, at: now().toISOString() };
      const all = Object.entries({ ...readModelRecords(home), [nameOf(model)]: record })
        .sort(([, one], [, other]) => (one.at < other.at ? 1 : -1))
        .slice(0, MOST_MODELS);
      attemptOr(undefined, () => replaceFile(file, `${JSON.stringify(Object.fromEntries(all), null, 1)}\n`));
    },
  };
}

const nameOf = ({ provider, model }: Pick<Model, "provider" | "model">) => `${provider}/${model}`;

async function identify(model: Model): Promise<string> {
  return (await model.identify?.(AbortSignal.timeout(IDENTITY_MS))) ?? "";
}

/** All records by `provider/model`; entries that are none are left out. */
export function readModelRecords(home: string): Readonly<Record<string, ModelRecord>> {
  const text = attemptOr(null, () => readTextFile(join(home, FILE)));
  const value = attemptOr(null, (): unknown => JSON.parse(text ?? "null"));
  if (typeof value !== "object" || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, entry]) => {
      const record = toRecord(entry);
      return record === null ? [] : [[name, record] as const];
    }),
  );
}

function toRecord(entry: unknown): ModelRecord | null {
  if (typeof entry !== "object" || entry === null) return null;
  const { identity, at, forms, reads, writes } = entry as Partial<Record<keyof ModelRecord, unknown>>;
  if (typeof identity !== "string" || typeof at !== "string" || typeof forms !== "object" || forms === null)
    return null;
  const counted = FORMS.flatMap((form) => {
    const counts = (forms as Partial<Record<AnswerForm, unknown>>)[form];
    if (typeof counts !== "object" || counts === null) return [];
    const of = (outcome: AnswerOutcome) => toCount((counts as Partial<Record<string, unknown>>)[outcome]);
    return [[form, Object.fromEntries(OUTCOMES.map((outcome) => [outcome, of(outcome)]))] as const];
  });
  return {
    ...{ identity, at, reads: toCount(reads), writes: toCount(writes) },
    forms: Object.fromEntries(counted) as ModelRecord["forms"],
  };
}

const toCount = (value: unknown) =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;

function withSeen(record: ModelRecord, seen: SeenAnswer): ModelRecord {
  if ("form" in seen) {
    const before = record.forms[seen.form] ?? { read: 0, unread: 0, endless: 0, green: 0 };
    const isFull = before.read + before.unread >= MOST_COUNTED;
    const kept = Object.fromEntries(
      OUTCOMES.map((outcome) => [outcome, isFull ? Math.floor(before[outcome] / 2) : before[outcome]]),
    ) as Record<AnswerOutcome, number>;
    kept[seen.outcome] += 1;
    return { ...record, forms: { ...record.forms, [seen.form]: kept } };
  }
  const { read, readMs, wrote, wroteMs } = seen;
  return {
    ...record,
    reads: read >= LEAST_READ ? smooth(record.reads, (read * 1000) / Math.max(1, readMs)) : record.reads,
    writes:
      wrote >= LEAST_WRITTEN ? smooth(record.writes, (wrote * 1000) / Math.max(1, wroteMs)) : record.writes,
  };
}

/** A server that counts its tokens wrongly says nothing about its speed. */
const FASTEST = 100_000;

/** The mean of what was known and what was seen; a prompt from the server's cache seems faster than it can be read. */
function smooth(known: number, seen: number): number {
  if (seen > FASTEST) return known;
  return Math.round((known === 0 ? seen : (known + Math.min(seen, 2 * known)) / 2) * 10) / 10;
}

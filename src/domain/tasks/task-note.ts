import { fenced } from "../forges/posted-text.ts";
import { cutMiddle } from "../texts/format-text.ts";
import type { TaskMessages } from "../texts/tasks.ts";
import {
  criteriaWithVerdicts,
  landedJobs,
  passes,
  type TaskLoop,
  type TaskRecord,
  type TestRun,
  type WorkerRun,
} from "./task-record.ts";

export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (value instanceof Date) return value.toISOString();
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key.replace(/[A-Z]/g, (one) => `_${one.toLowerCase()}`),
      snakeCased(each),
    ]),
  );
}

const SHOWN_OUTPUT = 8000;

/** The note `.picoclaw/task-<id>.md`: the request, the decisions and steps, and the outcome. */
export function renderNote(record: TaskRecord, messages: TaskMessages): string {
  const { facts, usage } = record;
  const { note: words } = messages;
  const criteria = criteriaWithVerdicts(record).map(({ id, description, verdict }) => {
    const why = verdict && verdict.reason !== "" ? ` — ${oneLine(verdict.reason)}` : "";
    return `- [${verdict?.passed ? "x" : " "}] ${id}: ${oneLine(description)}${why}`;
  });
  const jobs = landedJobs(record);
  return [
    `# ${oneLine(facts.title)}`,
    "",
    `- ${words.state}: ${record.state}`,
    `- id: ${facts.id}`,
    `- ${record.createdAt} → ${record.updatedAt}`,
    `- ${words.worker}: ${facts.kind} (${facts.image})`,
    `- ${words.cost}: ${usage.inputTokens} → ${usage.outputTokens} tokens, $${usage.costUsd.toFixed(4)}`,
    ...record.notes.map((note) => `- ${oneLine(note)}`),
    ...(jobs.length > 0 ? [`- ${words.undo}: \`picoclaw undo ${facts.id}\``] : []),
    "",
    `## ${words.asked}`,
    "",
    facts.description === "" ? "" : `${facts.description}\n`,
    fenced(facts.prd, "text"),
    "",
    `## ${words.criteria}`,
    "",
    criteria.length === 0 ? words.noCriteria : criteria.join("\n"),
    "",
    ...record.loops.flatMap((loop) => loopLines(loop, messages)),
    ...(record.end ? [`## ${words.result}`, "", `${record.state}: ${record.end.summary}`, ""] : []),
  ].join("\n");
}

/** The same for programs, in the form of the other JSON documents. */
export function taskJson(record: TaskRecord): string {
  const { facts, loops, criteria: _, loopsElsewhere: __, end, interrupted, steps, ...rest } = record;
  const document = {
    id: facts.id,
    ...rest,
    facts,
    criteria: criteriaWithVerdicts(record),
    turns: loops,
    record: steps,
    interrupted,
    ...(end && { result: end.summary, ...(end.code && { failure: end.code }) }),
  };
  return `${JSON.stringify(snakeCased(document), null, 2)}\n`;
}

function loopLines(one: TaskLoop, { note: words }: TaskMessages): string[] {
  const { loop, at, action, reason, prompt, run, test, refused, verdicts, assessment } = one;
  return [
    `## ${words.turn} ${loop}`,
    "",
    `- ${words.decision}: \`${action}\` (${at})${reason === "" ? "" : ` — ${oneLine(reason)}`}`,
    "",
    ...(prompt === "" ? [] : [`### ${words.prompt}`, "", fenced(prompt, "text"), ""]),
    ...(run ? runLines(run, words) : []),
    ...(test ? testLines(test, words) : []),
    ...(refused ? [words.refused, ""] : []),
    ...(verdicts
      ? [
          `### ${words.verdicts}`,
          "",
          ...verdicts.map(
            ({ id, passed, reason: why }) =>
              `- ${id}: ${passed ? words.passed : words.failed} — ${oneLine(why)}`,
          ),
          "",
          assessment ?? "",
          "",
        ]
      : []),
  ];
}

function runLines(run: WorkerRun, words: TaskMessages["note"]): string[] {
  const { job, usage } = run;
  const changes = job?.changes ?? [];
  return [
    `### ${words.run}`,
    "",
    `- ${run.startedAt} → ${run.finishedAt}`,
    `- exit: ${run.exitCode ?? "-"}${run.error === null ? "" : ` — ${oneLine(run.error)}`}`,
    `- ${words.cost}: ${usage.inputTokens} → ${usage.outputTokens} tokens, $${usage.costUsd.toFixed(4)}`,
    ...(job ? [`- job: ${job.id} (${job.outcome})`] : []),
    ...(job?.notes ?? []).map((note) => `- ${oneLine(note)}`),
    "",
    `${words.changes}:`,
    "",
    changes.length === 0
      ? words.noChanges
      : changes.map(({ path, kind }) => `- ${kind} \`${path}\``).join("\n"),
    "",
    fenced(cutMiddle(run.summary || run.rawOutput, SHOWN_OUTPUT), "text"),
    "",
  ];
}

function testLines(test: TestRun, words: TaskMessages["note"]): string[] {
  const verdict = passes(test) ? words.passed : words.failed;
  return [
    `### ${words.test}: ${verdict}`,
    "",
    `\`${oneLine(test.command)}\` → ${test.exitCode ?? "-"} (${test.durationMs} ms)${test.error === null ? "" : ` — ${oneLine(test.error)}`}`,
    "",
    fenced(cutMiddle(test.output, SHOWN_OUTPUT), "text"),
    "",
  ];
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

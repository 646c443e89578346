import { type CandidateFacts, rankCandidates } from "../../domain/tasks/rank-candidates.ts";
import type { SolveTask } from "../ports/tasks.ts";
import { keepChange } from "./keep-change.ts";
import { createNews, type NewsListener } from "./item-comments.ts";
import { prepareTask } from "./prepare-task.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { SolveStop } from "./solve-stop.ts";
import { verifyChange } from "./verify.ts";

export interface CandidateDeps {
  /** One go of whoever works: our own loop, or a worker CLI. */
  readonly doWork: (work: SolveWork, news: NewsListener) => Promise<void>;
  readonly uuid: () => string;
}

interface Candidate {
  readonly work: SolveWork;
  stop: SolveStop | null;
}

/**
 * Several coders work on one task at once, each in a container of its own; the project's checks say which one is kept, and the
 * others are discarded and named. The task goes on as the kept one; where none came to its end, the best of them is what the next
 * time goes on from.
 */
export async function tryCandidates(
  parts: SolveDeps,
  work: SolveWork,
  { doWork, uuid }: CandidateDeps,
): Promise<void> {
  const count = work.task.candidates ?? 1;
  await work.update({ phase: "work" });
  const candidates = Array.from({ length: count }, (_, i) => openCandidate(work, i + 1, count, uuid()));
  try {
    await Promise.all(candidates.map((candidate) => tryCandidate(parts, candidate, doWork)));
    const facts = candidates.map(toCandidateFacts);
    const [best = 0, ...others] = rankCandidates(facts);
    const kept = candidates[best] as Candidate;
    const note = parts.messages.candidates(best + 1, facts);
    const { id: _, stepsBefore: __, ...came } = kept.work.task;
    const steps = candidates.reduce((sum, { work: one }) => sum + one.task.steps, 0);
    await work.update({
      ...came,
      id: work.task.id,
      // Only this one goes on; what the others used does not count against it.
      candidates: 1,
      steps,
      stepsBefore: steps - kept.work.task.steps,
      notes: [...came.notes, note],
    });
    await work.note({ kind: "chosen", candidate: best + 1, discarded: others.map((place) => place + 1) });
    work.say(note);
    if (kept.stop !== null) throw kept.stop;
    work.environment = kept.work.environment;
    work.environmentId = kept.work.task.id;
    work.judged = true;
  } finally {
    const gone = candidates.filter((one) => one.work.task.id !== work.environmentId);
    await Promise.all(gone.map((one) => parts.environments.remove(one.work.task.id, work.claim)));
  }
}

async function tryCandidate(
  parts: SolveDeps,
  candidate: Candidate,
  doWork: CandidateDeps["doWork"],
): Promise<void> {
  const { work } = candidate;
  const news = createNews(parts, work);
  try {
    await prepareTask(parts, work);
    await doWork(work, news);
    await verifyChange(parts, work, () => doWork(work, news));
  } catch (error) {
    if (!(error instanceof SolveStop)) throw error;
    candidate.stop = error;
    await keepChange(work);
  }
}

function toCandidateFacts({ work, stop }: Candidate): CandidateFacts {
  return {
    failure: stop === null ? null : stop.kind,
    checks: work.task.checks.map(({ exitCode }) => exitCode),
    patchBytes: Math.floor((work.task.patch.length * 3) / 4),
  };
}

/** The task with a conversation and a container of its own. Nothing of it is stored but its steps. */
function openCandidate(parent: SolveWork, place: number, count: number, id: string): Candidate {
  const text = `You are one of ${count} coders who work on this task, each alone in a copy of the project. The best change is kept. Go your own way.`;
  const task: SolveTask = {
    ...parent.task,
    id,
    steps: 0,
    stepsBefore: 0,
    transcript: [...parent.task.transcript, { role: "user", text }],
  };
  const work: SolveWork = {
    ...parent,
    task,
    isCandidate: true,
    environment: null,
    environmentId: id,
    say: (line) => parent.say(`[${place}] ${line}`),
    note: (step) => parent.note({ ...step, candidate: place }),
    get costNoted() {
      return parent.costNoted;
    },
    set costNoted(usd) {
      parent.costNoted = usd;
    },
    async update(change) {
      work.task = { ...work.task, ...change };
      if (change.steps !== undefined) await parent.update({ steps: parent.task.steps + 1 });
    },
  };
  return { work, stop: null };
}

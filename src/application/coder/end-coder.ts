import type { CoderEnd, CoderStopReason } from "./coder-end.ts";
import type { CoderLoop, LoopState } from "./coder-loop-parts.ts";

/** The user gave up: a draft that is ended then takes everything back, and its job says so. */
export async function endStopped({ bench }: CoderLoop, state: LoopState): Promise<CoderEnd> {
  if (state.proposal === null) return { kind: "aborted" };
  return endWorked({ ...state, red: null }, await bench.land(), null, "");
}

/** The end of a coder whose draft is not taken; null where it is, or where it works alone. */
export async function endPassedOver(
  { chosen, signal, bench }: CoderLoop,
  state: LoopState,
  attempts: number,
): Promise<CoderEnd | null> {
  const { proposal, red } = state;
  if (chosen === undefined || proposal === null) return null;
  if (!(await chosen({ proposal, red, attempts }))) return { kind: "passed-over" };
  return signal.aborted ? endWorked({ ...state, red: null }, await bench.land(), null, "") : null;
}

/** Green is out of reach: the draft becomes what `onRed` says, where there is one. */
export async function endGivenUp(
  loop: CoderLoop,
  state: LoopState,
  stopped: CoderStopReason,
  words = "",
  report = "",
): Promise<CoderEnd> {
  const { bench, limits } = loop;
  const { red } = state;
  if (red === null) {
    if (stopped.why === "unanswered") return { kind: "unanswered", text: stopped.text };
    return { kind: "unusable", why: report || words };
  }
  const other = await endPassedOver(loop, state, state.attempts);
  if (other !== null) return other;
  // There is nothing to keep; what its commands did is told.
  if (red.kind === "failing" && bench.changes().length === 0)
    return endWorked(state, await bench.land(), stopped, words);
  // Its own commands fail, but edits do not: the project's checks may still say that nothing is worse.
  if (red.kind === "failing" && red.failed.every(({ command }) => command.type !== "file_edit")) {
    const judged = await bench.judge(state.attempts);
    if (judged?.verdict === "green") return endWorked(state, await bench.land(), stopped, words);
  }
  switch (limits.onRed) {
    case "apply":
      return endWorked(state, await bench.land(), stopped, words);
    case "preview":
      return endWorked(state, await bench.keep(red.kind), stopped, words);
    case "discard":
      return endWorked(state, null, stopped, words);
  }
}

export function endWorked(
  { proposal, attempts, red, tried }: LoopState,
  execution: Extract<CoderEnd, { kind: "worked" }>["execution"],
  stopped: CoderStopReason | null,
  words: string,
): CoderEnd {
  if (proposal === null) throw new Error("a coder's work ended without a proposal");
  return { kind: "worked", proposal, execution, story: { attempts, red, stopped, tried, words } };
}

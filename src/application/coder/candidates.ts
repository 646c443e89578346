export interface CandidatesRun<Head, Ending, End> {
  readonly heads: readonly Head[];
  /** All at once, or one after the other. */
  readonly atOnce: boolean;
  /** One after the other: whether the next one is to try as well. */
  readonly goesOn: (came: CandidateState<Ending, End>) => boolean;
  /** Whoever has a draft asks whether it is taken, and waits there; nobody else is asked for its end. */
  readonly run: (head: Head, chosen: (ending: Ending) => Promise<boolean>) => Promise<End>;
  /** Which of the drafts that wait is taken. */
  readonly choose: (waiting: ReadonlyMap<Head, Ending>) => Promise<Head | null>;
}

/** Where a coder stands: its draft waits, or it has ended without one. */
export type CandidateState<Ending, End> =
  | { readonly kind: "waits"; readonly ending: Ending }
  | { readonly kind: "ended"; readonly end: End };

/**
 * Several coders at one message. Each works until it has a draft that could land or until it has none; when all are
 * there, one draft is chosen, its coder goes on to land it, and the others end.
 */
export async function runCoderCandidates<Head, Ending, End>(
  parts: CandidatesRun<Head, Ending, End>,
): Promise<ReadonlyMap<Head, End>> {
  const waiting = new Map<Head, { readonly ending: Ending; readonly decide: (taken: boolean) => void }>();
  const running = new Map<Head, Promise<End>>();
  let taken: Head | null = null;

  /** Ends when its draft waits, or when it has ended. */
  function start(head: Head): Promise<CandidateState<Ending, End>> {
    const draft = Promise.withResolvers<CandidateState<Ending, End>>();
    const end = parts.run(head, (ending) => {
      if (taken === head) return Promise.resolve(true);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      waiting.set(head, { ending, decide: resolve });
      draft.resolve({ kind: "waits", ending });
      return promise;
    });
    running.set(head, end);
    return Promise.race([draft.promise, end.then((one) => ({ kind: "ended", end: one }) as const)]);
  }

  try {
    if (parts.atOnce) {
      // Nobody is left behind: what broke is thrown when all are there, and nothing is taken then.
      const came = await Promise.allSettled(parts.heads.map(start));
      for (const one of came) if (one.status === "rejected") throw one.reason;
    } else
      for (const head of parts.heads) {
        const came = await start(head);
        if (!parts.goesOn(came)) break;
      }
    if (waiting.size > 0) taken = await parts.choose(inOrder(parts.heads, waiting));
  } finally {
    for (const [head, { decide }] of waiting) decide(head === taken);
    await Promise.allSettled(running.values());
  }
  const ends = new Map<Head, End>();
  for (const [head, end] of running) ends.set(head, await end);
  return ends;
}

/** Not in the order they came: what is equal goes to the first that was asked. */
function inOrder<Head, Ending>(
  heads: readonly Head[],
  waiting: ReadonlyMap<Head, { readonly ending: Ending }>,
): ReadonlyMap<Head, Ending> {
  return new Map(
    heads.flatMap((head) => {
      const one = waiting.get(head);
      return one === undefined ? [] : [[head, one.ending] as const];
    }),
  );
}

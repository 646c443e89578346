/** How often others of the process had their turn until the work was done. */
export async function turnsDuring<T>(
  work: () => Promise<T>,
): Promise<{ readonly turns: number; readonly done: T }> {
  const count = { turns: 0, over: false };
  const turn = () => {
    count.turns += 1;
    if (!count.over) setImmediate(turn);
  };
  setImmediate(turn);
  const done = await work();
  count.over = true;
  return { turns: count.turns, done };
}

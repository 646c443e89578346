/** Splits a budget over wishes: who wants less than an equal share leaves the rest to the others. */
export function splitBudget(wishes: readonly number[], budget: number): number[] {
  const shares = wishes.map(() => 0);
  let left = budget;
  const open = wishes.map((wish, at) => ({ wish, at })).sort((a, b) => a.wish - b.wish);
  for (const [taken, { wish, at }] of open.entries()) {
    const share = Math.min(wish, Math.floor(left / (open.length - taken)));
    shares[at] = share;
    left -= share;
  }
  return shares;
}

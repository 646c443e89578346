/** A cap on the work one plan may do, so that a hostile patch ends in a refusal and not in hours. */
export interface WorkBudget {
  left: number;
}

/** Steps: about one line compared or a hundred characters scanned; a second or two in all. */
const PLAN_STEPS = 8_000_000;

export function createBudget(steps = PLAN_STEPS): WorkBudget {
  return { left: steps };
}

/** False once the budget is spent. */
export function spendBudget(budget: WorkBudget, steps: number): boolean {
  budget.left -= steps;
  return budget.left > 0;
}

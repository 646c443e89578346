/** What the items in a cart cost together. */
export function total(items) {
  let sum = 0;
  for (const { price } of items) sum += price;
  return sum;
}

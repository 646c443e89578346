import type { ItemRef } from "./forge-items.ts";

/** The name of a comment as a delivery: the same by webhook and by polling, so that it is taken in once. */
export function commentDeliveryId({ forge, site }: ItemRef, commentId: number | string): string {
  return `${forge}:${site}:comment:${commentId}`;
}

/** The same for the words that an item was opened with. */
export function openedDeliveryId({ forge, site, repository, kind, number }: ItemRef): string {
  return `${forge}:${site}:opened:${repository}:${kind}:${number}`;
}

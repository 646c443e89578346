/** A price in cents, as people write it. */
export const formatPrice = (cents) => `$${(cents / 100).toFixed(2)}`;

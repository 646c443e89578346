const TIMES = 3;

/**
 * Puts something right in a view while processes of the job may still be in the way: tries again, then leaves it. The
 * judgement of what is sealed has the last word. What ends the view itself is passed on.
 */
export function retryDespiteOthers(
  use: () => void,
  isFatal: (error: unknown) => boolean = () => false,
): void {
  for (let i = 0; i < TIMES; i++) {
    try {
      use();
      return;
    } catch (error) {
      if (isFatal(error)) throw error;
    }
  }
}

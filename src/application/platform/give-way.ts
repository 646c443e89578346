/** Everything else of the process goes on before the next piece of work: a server answers everybody from one thread. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

import { lookup } from "node:dns/promises";

const PATIENCE_MS = 2000;

/** The addresses of a name by the system's resolver; none where there are none, or none in time. */
export async function lookUp(host: string): Promise<readonly string[]> {
  const late = new Promise<[]>((done) => setTimeout(done, PATIENCE_MS, []).unref());
  const plain = host.replace(/^\[|\]$/g, "");
  const found = lookup(plain, { all: true }).then(
    (all) => all.map(({ address }) => address),
    () => [],
  );
  return Promise.race([found, late]);
}

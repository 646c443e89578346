const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** Nothing else may become the name of a folder. */
export function isJobId(name: string): boolean {
  return /^job_\d{1,12}_[0-9a-z]{8}$/.test(name);
}

/** `job_<unix seconds>_<8 characters>`. */
export function newJobId(now: Date, random: (bytes: number) => Uint8Array): string {
  let name = "";
  for (const byte of random(8)) name += ALPHABET[byte % ALPHABET.length];
  return `job_${Math.floor(now.getTime() / 1000)}_${name}`;
}

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";

/** `job_<unix seconds>_<8 characters>`. */
export function newJobId(now: Date, random: (bytes: number) => Uint8Array): string {
  let name = "";
  for (const byte of random(8)) name += ALPHABET[byte % ALPHABET.length];
  return `job_${Math.floor(now.getTime() / 1000)}_${name}`;
}

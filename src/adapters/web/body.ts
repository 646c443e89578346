/** A body that comes a byte at a time is given up after this; the size is the server's business. */
const READ_MS = 30_000;

export class TooSlow extends Error {
  constructor() {
    super("the body did not arrive in time");
  }
}

/** The whole body as a text; rejects with `TooSlow` when it drips. */
export async function textOf(request: Request, limitMs = READ_MS): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooSlow()), limitMs);
  });
  try {
    return await Promise.race([request.text(), late]);
  } finally {
    clearTimeout(timer);
  }
}

import type { ServeMessages } from "../../domain/texts/texts.ts";
import type { AccessStore, Person, Role } from "../ports/access.ts";
import type { InboundMessage } from "../ports/channel.ts";

export interface PairingDeps {
  readonly access: Pick<AccessStore, "savePairing" | "takePairing" | "savePerson" | "pairings">;
  readonly messages: () => ServeMessages;
  readonly random: (bytes: number) => Uint8Array;
  readonly now: () => Date;
}

/** Without letters and digits that look alike. */
const LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_LETTERS = 8;
const VALID_MS = 3_600_000;

export interface PairingCodes {
  /** The answer to a stranger: a code that an operator can confirm. */
  greet(message: InboundMessage): Promise<string>;
  /** Lets the stranger with this code in; null when there is none, or it is too old. */
  confirm(code: string, role: Role, name: string | null): Promise<Person | null>;
}

/** Strangers are let in by an operator who confirms the code that they were given. */
export function createPairingCodes({ access, messages, random, now }: PairingDeps): PairingCodes {
  return {
    async greet({ channel, userId, chatId }) {
      const at = now();
      const known = (await access.pairings(at.toISOString())).find(
        (each) => each.channel === channel && each.userId === userId,
      );
      // The same code as long as it holds: asking again neither floods the list nor makes guessing easier.
      const code =
        known?.code ?? [...random(CODE_LETTERS)].map((byte) => LETTERS[byte % LETTERS.length]).join("");
      if (known === undefined)
        await access.savePairing({
          code,
          channel,
          userId,
          chatId,
          name: "",
          expiresAt: new Date(at.getTime() + VALID_MS).toISOString(),
        });
      return messages().pairing(code);
    },
    async confirm(code, role, name) {
      const at = now().toISOString();
      const found = await access.takePairing(code.trim().toUpperCase(), at);
      if (found === null) return null;
      const { channel, userId } = found;
      const person: Person = { channel, userId, name: name ?? found.name, role, addedAt: at };
      await access.savePerson(person);
      return person;
    },
  };
}

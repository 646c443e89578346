import { resolveLocale } from "../../config/locale.ts";
import { messagesFor } from "../../domain/messages/catalogue.ts";
import { maskSecrets } from "../../domain/policy/mask.ts";
import { Stop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** The one handler at the process edge: system troubles get their remedy, bugs their stack. */
export function reportCrash(program: CliProgram, error: unknown): number {
  if (error instanceof Stop) return error.exitCode;
  const messages = messagesFor(resolveLocale({ env: program.env }));
  const { code, path } = error as { code?: string; path?: string };
  const place = maskSecrets(path ?? (error as Error).message);
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      program.err(`${messages.fileTrouble("no-space", place)}\n${messages.remedy("free-space")}\n`);
      return EXIT.refused;
    case "EROFS":
      program.err(`${messages.fileTrouble("read-only", place)}\n`);
      return EXIT.refused;
    case "EACCES":
    case "EPERM":
      program.err(`${messages.fileTrouble("permission-denied", place)}\n`);
      return EXIT.refused;
    default:
      program.err(`${messages.unexpectedError(maskSecrets((error as Error).stack ?? String(error)))}\n`);
      return EXIT.failed;
  }
}

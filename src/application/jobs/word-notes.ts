import type { Messages } from "../../domain/texts/messages.ts";
import { confinementMessages, reportMessages } from "../../domain/texts/messages.ts";
import type { Note } from "../../domain/jobs/note.ts";

export function wordNote(messages: Messages, note: Note): string {
  if (typeof note === "string") return note;
  switch (note.code) {
    case "sealed-otherwise":
      return reportMessages(messages.locale).sealedOtherwise(note);
    case "staging":
      return messages.transactionKind(note.kind, note.reason);
    case "not-covered":
      return messages.notCovered(note.what);
    case "repaired":
      return messages.jobRepaired(note);
    case "limited":
      return confinementMessages(messages.locale).limited;
    case "not-confined":
      return messages.notConfined;
    case "shell-not-undoable":
      return messages.shellNotUndoable;
    case "undone-by-task":
      return messages.undoIsTheTasks;
    case "auto-commit-failed":
      return messages.autoCommitFailed(note.error);
    case "identity-fallback":
      return messages.identityFallback;
    case "signing-skipped":
      return messages.signingSkipped;
    case "protected-restored":
      return messages.protectedRestored(note.paths);
    case "filter-unknown":
      return messages.filterUnknown(note.paths);
    case "protected-created":
      return messages.protectedCreated(note.paths);
    case "protected-logged":
      return messages.protectedLogged(note.paths);
    case "rename-across-layers":
      return messages.renameAcrossLayers;
    case "link-across-layers":
      return messages.linkAcrossLayers;
    case "foreign-owner":
      return messages.foreignOwner;
    case "foreign-owner-met":
      return messages.foreignOwnerMet;
    case "host-refused":
      return confinementMessages(messages.locale).refusedHost(note);
    case "home-hidden":
      return confinementMessages(messages.locale).homeHidden(note.paths);
    case "network-limited":
      return confinementMessages(messages.locale).networkLimited(note.network);
    case "limit-met":
      return confinementMessages(messages.locale).limitMet(note.limit, note.value);
  }
}

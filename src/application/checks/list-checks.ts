import type { WhyNotChecked } from "../../domain/checks/findings.ts";
import type { CheckMemory, KnownChecks, SourceParsers } from "../ports/checks.ts";
import { type CheckSettings, type OpenChecksDeps, openChecks, recallChecks } from "./baseline.ts";
import { findTools } from "./find-sources.ts";
import { readChecksState } from "./project-checks.ts";

interface KnownChecksDeps extends Omit<OpenChecksDeps, "settings"> {
  readonly settings: () => CheckSettings;
  readonly memory: CheckMemory;
  readonly sourceParsers: () => Promise<SourceParsers>;
}

/** The commands that judge changes of a workspace, as far as they are known without a run. */
export function createKnownChecks({ settings, sourceParsers, ...deps }: KnownChecksDeps): KnownChecks {
  const { memory, files } = deps;
  return {
    async read() {
      const found = openChecks({ ...deps, settings: settings() });
      const record = found.ok ? recallChecks(memory, found.checks) : null;
      const isCurrent = record?.results != null && record.fingerprint === memory.fingerprint();
      const state = readChecksState(found, isCurrent ? record : null);
      const lint = found.ok
        ? found.checks.flatMap(({ kind, command }) => (kind === "lint" ? [command] : []))
        : [];
      const tools = settings().command === null ? await findTools(files, lint, sourceParsers) : [];
      const { use = null, works = null, tried = [] } = memory.commands?.recall() ?? {};
      const failed = tried.flatMap(({ command, why }): { command: string; why: WhyNotChecked }[] =>
        why === null ? [] : [{ command, why }],
      );
      return { state, use, works, tried: failed, tools: tools.map(({ command }) => command) };
    },
    use(command) {
      const { use: _, ...rest } = memory.commands?.recall() ?? { tried: [] };
      memory.commands?.keep(command === null ? rest : { ...rest, use: command });
      return (memory.commands?.recall()?.use ?? null) === command;
    },
  };
}

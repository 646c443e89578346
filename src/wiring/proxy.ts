import { toFaultText } from "../domain/platform/error-text.ts";
import { takeFaults } from "../infrastructure/platform/process-faults.ts";
import { endProxyProgram, runProxyProgram } from "../infrastructure/sandbox/proxy-program.ts";

takeFaults((error) => endProxyProgram(toFaultText(error)));
void runProxyProgram(process.argv[2] ?? process.env.PICOCLAW_PROXY ?? "");

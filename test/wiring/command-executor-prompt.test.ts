import { expect, test } from "bun:test";
import { createCommandPolicy } from "../../src/domain/policy/allowed-commands.ts";
import { commandExecutorPrompt } from "../../src/infrastructure/containers/command-executor-prompt.ts";

test("the fragment of the system prompt lists the allowed commands", () => {
  const policy = createCommandPolicy({
    use_default: false,
    additional: [],
    exclude: [],
    custom_list: ["npm", "grep"],
  });
  expect(commandExecutorPrompt(policy)).toContain(
    "The following commands are available for execution:\n\nCustom: npm, grep\n\n### Key Features",
  );
});

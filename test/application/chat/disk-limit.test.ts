import { afterEach, expect, test } from "bun:test";
import { requirePart } from "../../require.ts";
import { type ChatCli, createChatCli, proposal } from "./chat-kit.ts";

let cli: ChatCli;
afterEach(() => cli?.remove());

const GROWS = "for i in $(seq 100); do head -c 4000000 /dev/zero > big-$i; sleep 0.2; done; sleep 60";
const LIMITED = {
  PICOCLAW_WORKER_LIMITS_DISK: "1MB",
  PICOCLAW_WORKER_TRANSACTION: "overlay",
  PICOCLAW_WORKER_CONFINE: "on",
};

test.if(requirePart("bwrap"))(
  "a job that takes more disk than it may is told as `apply` tells it, with the job and its exit code",
  () => {
    cli = createChatCli([{ text: proposal("Fill it", `\`\`\`bash\n${GROWS}\n\`\`\``) }]);
    for (const [locale, words] of [
      ["en", /^The changes of the job took .* so the job was ended\.\nNothing of #\d+ was applied\.$/m],
      ["ja", /^ジョブの変更が.*ジョブを終了しました。\n#\d+ の変更は何も適用していません。$/m],
    ] as const) {
      const { code, out } = cli.chat("/code3 fill it", [], { ...LIMITED, PICOCLAW_LOCALE: locale });
      expect({ code, out }).toEqual({ code: 1, out: expect.stringMatching(words) });
    }
    expect(cli.tree()).toEqual({});
  },
  300_000,
);

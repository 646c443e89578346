import { expect, test } from "bun:test";
import { RULES } from "../../../../src/domain/policy/decide-command.ts";
import { commandsTexts as en } from "../../../../src/domain/texts/en/policy.ts";
import { commandsTexts as ja } from "../../../../src/domain/texts/ja/policy.ts";

test.each(RULES.map(({ id }) => [id] as const))("%s has a reason and an advice in both languages", (id) => {
  for (const messages of [ja, en]) {
    const [reason, instead] = messages.rules[id];
    expect(reason.length).toBeGreaterThan(3);
    expect(instead).toMatch(/[.。]$/);
  }
  expect(ja.rules[id]).not.toEqual(en.rules[id]);
});

test("the reasons of the denied programs keep their wording", () => {
  const reasons = Object.fromEntries(RULES.map(({ id }) => [id, ja.rules[id][0]]));
  expect(reasons).toMatchObject({
    sudo: "特権昇格の防止",
    su: "ユーザー切り替えの防止",
    "rm-rf": "再帰的強制削除による誤削除の防止",
    "chmod-777": "過剰な権限付与の防止",
    chown: "所有者変更の防止",
    mount: "ファイルシステム操作の防止",
    iptables: "ネットワーク設定変更の防止",
    systemctl: "サービス制御の防止",
    kill: "プロセス強制終了の防止（自身のプロセス以外）",
    reboot: "システム制御の防止",
    dd: "低レベルディスク操作の防止",
    mkfs: "ファイルシステム作成の防止",
    fdisk: "パーティション操作の防止",
    nc: "任意ネットワーク接続の防止",
    nmap: "ネットワークスキャンの防止",
    ssh: "リモート接続の防止",
    rsync: "リモートファイル転送の防止（外部への）",
  });
});

import type { CronShape } from "../../chat/schedule-sentence.ts";
import type * as en from "../en/chat-schedules.ts";
import { formatMoment, wordBy } from "../format-text.ts";

const DAYS = "日月火水木金土";

const times = wordBy<"kind", CronShape>("kind", {
  days: ({ days, time }) => {
    if (days === "all") return `毎日 ${time}`;
    if (days.join() === "1,2,3,4,5") return `平日 ${time}`;
    return `毎週${days.map((day) => DAYS[day]).join("・")}曜 ${time}`;
  },
  month: ({ day, time }) => `毎月${day === "last" ? "末日" : `${day}日`} ${time}`,
  minutes: ({ each }) => (each === 1 ? "1 分ごと" : `${each} 分ごと`),
  hours: ({ each }) => `${each} 時間ごと`,
  hourly: ({ minute }) => `毎時 ${minute} 分`,
  other: ({ cron }) => `${cron} の時刻`,
});

const when = (at: string, timezone: string) => formatMoment(at, timezone, "ja-JP", "numeric");

const OUTCOMES = { waits: "未回答", answered: "回答済み", failed: "失敗", unknown: "" } as const;

const NOT_SERVED = "サーバーが動いていません。picoclaw serve が動いている間に送られます。";

export const schedules: typeof en.schedules = {
  scheduleLabels: { run: "今すぐ実行", pause: "一時停止", resume: "再開", remove: "削除" },
  scheduleMade: (line, { isAway, isServed }) =>
    [
      `${line.name} を予約しました: ${times(line.shape)}（${line.timezone}）。`,
      line.nextAt === null ? "" : `次回: ${when(line.nextAt, line.timezone)}`,
      `内容: ${line.message}`,
      isAway ? "回答はコンソールに表示されます。" : "回答はこのチャットに届きます。",
      isServed ? "" : NOT_SERVED,
      `/schedule run|pause|remove ${line.name.replace("#", "")}`,
    ]
      .filter((part) => part !== "")
      .join("\n"),
  scheduleList: (lines, isServed) =>
    lines.length === 0
      ? "予約はありません。作るには: 毎週月曜の9時にテストを実行して"
      : [
          ...lines.map(
            (line) =>
              `${line.name} ${times(line.shape)}（${line.timezone}）、${line.isEnabled ? (line.nextAt === null ? "次回なし" : `次回 ${when(line.nextAt, line.timezone)}`) : "一時停止中"}: ${line.message} → ${line.chat}`,
          ),
          ...(isServed ? [] : [NOT_SERVED]),
        ].join("\n"),
  scheduleRuns: (line) => `${line.name} を今すぐ実行します: ${line.message}`,
  schedulePaused: (line) =>
    `${line.name} を一時停止しました。再開するには: /schedule resume ${line.name.replace("#", "")}`,
  scheduleResumed: (line) =>
    `${line.name} を再開しました: ${times(line.shape)}（${line.timezone}）。${line.nextAt === null ? "" : `次回: ${when(line.nextAt, line.timezone)}`}`,
  scheduleRemoved: (line) => `${line.name} を削除しました: ${line.message}`,
  scheduleHistory: (line, runs) =>
    [
      `${line.name} ${times(line.shape)}: ${line.message}`,
      ...(runs.length === 0
        ? ["まだ実行していません。"]
        : runs.map(({ at, isAsked, outcome }) =>
            [when(at, line.timezone), isAsked ? "手動" : "", OUTCOMES[outcome]]
              .filter((part) => part !== "")
              .join(" · "),
          )),
    ].join("\n"),
  scheduleUnknown: (name) => `予約 ${name} はありません。一覧: /schedule list`,
  scheduleConfigured: (name) =>
    `${name} は設定ファイルの予約です。設定ファイルか、コンソールの設定で変更してください。`,
  scheduleLongRule: (most) =>
    `予約しませんでした。cron の指定は ${most} 文字までです。時刻が複数あるときは、予約を分けてください。`,
  scheduleLongTask: (most) =>
    `予約しませんでした。内容は ${most} 文字までです。ファイルに書き、「FILE のとおりに実行」と予約してください。`,
  scheduleTooMany: "予約が多すぎます。先に削除してください: /schedule list",
  scheduleUnplain: (timezone) =>
    [
      "予約していません。時刻の指定をすべては読み取れず、違う時刻に実行してしまうためです。",
      `予約できるのは、${timezone} の時刻 1 つ（毎日・平日・曜日・毎月の日）か、N 分ごと・N 時間ごとです。2 つの時刻は 2 つの予約にしてください。除外や終わりは指定できません。時刻の後にコロンを付けると、モデルなしで読み取ります。`,
      "例: /schedule 平日9時: テストを実行して ・ /schedule 毎週月・金曜の17時半: ログを確認して ・ /schedule 15分ごと: キューを確認して ・ /schedule 0 9 1 * * 依存関係を確認して",
    ].join("\n"),
  scheduleUsage:
    "時刻と内容を書いてください。例: /schedule 毎週月曜の9時: テストを実行して。ほかに: /schedule list、/schedule run|pause|resume|remove|history 番号",
};

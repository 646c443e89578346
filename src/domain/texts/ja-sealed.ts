import type { SealedOtherwise } from "../jobs/seal-note.ts";
import type { sealedOtherwise as englishSealedOtherwise } from "./sealed.ts";
import { namePaths } from "./name-paths.ts";

const WORDS: Readonly<Record<SealedOtherwise, (names: string) => string>> = {
  special: (names) => `反映していません（ファイル・フォルダー・リンクではありません）: ${names}`,
  device: (names) => `反映していません（デバイスです）: ${names}`,
  unreadable: (names) => `反映していません（読み取れません）: ${names}`,
  hidden: (names) => `ジョブからは見えません: ${names}`,
  "holds-hidden": (names) => `ジョブから見えないものを含むため残しました: ${names}`,
  "stale-lock": (names) => `ジョブの git が残したロックを取り除きました: ${names}`,
  owner: (names) => `${names}: 所有者があなたになりました`,
  group: (names) => `${names}: グループがあなたのものになりました`,
  "other-names": (names) => `${names}: 別名（ハードリンク）は以前の内容のままです`,
  "folder-owner": (names) => `${names}: ジョブが変えたフォルダーの所有者・グループは元のままです`,
  "folder-attributes": (names) => `${names}: ジョブが変えたフォルダーの属性・アクセスリストは元のままです`,
};

export const sealedOtherwise: typeof englishSealedOtherwise = ({ what, paths, count }) =>
  WORDS[what](namePaths(paths, count, (rest) => `ほか ${rest} 件`));

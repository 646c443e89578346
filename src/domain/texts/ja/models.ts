import type { RemoteReason } from "../../models/locality.ts";
import type { ModelFacts } from "../../models/model-facts.ts";
import type * as en from "../en/models.ts";

const who = ({ provider, model }: ModelFacts) => `${provider}（${model}）`;
const wait = ({ waitSeconds }: ModelFacts) =>
  waitSeconds === undefined ? "" : `（${waitSeconds} 秒後にもう一度お試しください）`;
const said = ({ detail }: ModelFacts) => (detail === "" ? "" : `: ${detail}`);

const WHY: Readonly<Record<RemoteReason, string>> = {
  "not-declared": "プロバイダーに `local: true` の宣言がありません",
  "cloud-host": "`local` の値にかかわらず、アドレスがクラウドのものです",
  "public-host": "Ollama のアドレスが公開ホストです",
  "cloud-model": "この Ollama モデルは Ollama のクラウドで動作します",
};

export const modelsTexts: typeof en.modelsTexts = {
  unreachable: (facts) => `${who(facts)}に接続できません（${facts.address}）${said(facts)}`,
  unknownSigner: (facts) =>
    `${who(facts)}: ${facts.address} の証明書の発行者を確認できません${said(facts)}\n→ 独自の証明書を使うプロキシ経由では、その発行者の証明書ファイルを NODE_EXTRA_CA_CERTS に設定してください`,
  connectTimeout: (facts) =>
    `${who(facts)}: ${facts.address} に ${facts.detail} 秒以内に接続できません（models.connect_timeout）`,
  firstTokenTimeout: (facts) =>
    `${who(facts)}の応答が ${facts.detail} 秒以内に始まりませんでした（models.first_token_timeout）`,
  idleTimeout: (facts) =>
    `${who(facts)}の応答が途中で ${facts.detail} 秒間途絶えました（models.idle_timeout）`,
  rateLimited: (facts) => `${who(facts)}が呼び出し回数の制限に達しました（429）${said(facts)}${wait(facts)}`,
  quotaSpent: (facts) =>
    `${who(facts)}のアカウントの残高がありません${said(facts)}\n→ そのアカウントに残高を追加するか、picoclaw init で別のモデルを選んでください`,
  serverError: (facts) => `${who(facts)}側で障害が発生しています${said(facts)}`,
  unauthorized: (facts) => `${who(facts)}が API キーを拒否しました${said(facts)}`,
  unknownModel: (facts) => `${facts.provider} にモデル ${facts.model} がありません${said(facts)}`,
  contextTooLong: (facts) => `会話が長すぎて ${who(facts)}に収まりません${said(facts)}`,
  badRequest: (facts) => `${who(facts)}がリクエストを受け付けませんでした${said(facts)}`,
  toolsRefused: (facts) =>
    `${who(facts)}はツールを呼び出せません${said(facts)}\n→ llama.cpp のサーバーは --jinja を付けて起動するか、ツールを使えるモデルを選んでください: /model`,
  redirected: (facts) =>
    `${who(facts)}: ${facts.address} は ${facts.detail} へリダイレクトしますが、追跡しません。base_url を設定してください`,
  cutOff: (facts) => `${who(facts)}の応答が途中で切れました${said(facts)}`,
  empty: (facts) => `${who(facts)}の応答が空でした`,
  thoughtOnly: (facts) =>
    `${who(facts)}は思考だけでトークンを使い切り、回答がありません。max_tokens を増やしてください`,
  answerTooLong: (facts) => `${who(facts)}の応答が ${facts.detail} を超えたため、打ち切りました`,
  inCircles: (facts) =>
    `${who(facts)}が同じ言葉を際限なく繰り返したため、止めました\n→ 別の言い方で頼むか、より大きなモデルを選んでください: /model`,
  malformed: (facts) => `${who(facts)}の応答を解釈できません${said(facts)}`,
  aborted: (facts) => `${who(facts)}の呼び出しを中止しました`,
  noImages: (facts) => `${who(facts)}は画像を読み取れません。何も送信していません`,
  imagesRefused: (facts) => `${who(facts)}は画像を受け付けませんでした${said(facts)}`,
  noKey: (provider, variable) => `${provider} の API キーがありません: 環境変数 ${variable} が未設定です`,
  unknownProvider: (role, provider) => `roles.${role}.provider が指す ${provider} は設定されていません`,
  noModelName: (provider) => `providers.${provider} にモデル名がありません`,
  noBaseUrl: (provider) => `providers.${provider} に base_url がありません`,
  scriptUnusable: (file, detail) => `スクリプト ${file} を使用できません: ${detail}`,
  noScriptedAnswer: (file, message) => `スクリプト ${file} に該当する回答がありません: ${message}`,
  refusedRemote: (role, { provider, model, why }) =>
    `${role} にはローカルモデルしか使えませんが、${provider}（${model}）はローカルではありません: ${WHY[why]}。何も送信していません。roles.${role} にローカルモデルを設定するか、security.local_only: false を設定してください。`,
  remedy: {
    pull: (model, installed = []) =>
      installed.length === 0
        ? `ollama pull ${model} を実行するか、picoclaw init で別のモデルを選んでください`
        : `picoclaw init で手元のモデルから選んでください（${installed.slice(0, 8).join(", ")}）。または ollama pull ${model}`,
    startOllama: (address) =>
      `Ollama を起動する（ollama serve。入手: https://ollama.com/download）か、picoclaw init で別のモデルを選んでください${address === null ? "" : `。接続先: ${address}`}`,
    setKey: (variable) =>
      `picoclaw login（キーを尋ね、確認して保存します）か、PicoClaw を動かしている環境で export ${variable}=… を実行してください`,
    checkModelName: (provider, successor = null) =>
      successor === null
        ? `利用できるモデルを選んでください: picoclaw init（手で書くなら roles か providers.${provider}.model）`
        : `${provider} では後継の ${successor} が使えます: picoclaw init で切り替えられます（手で書くなら roles か providers.${provider}.model）`,
    checkAddress: (provider) =>
      `ネットワークと providers.${provider}.base_url を確認するか、picoclaw init で別のモデルを選んでください`,
    startServer: (address) =>
      `${address === null ? "" : `${address} の`}サーバーを起動するか、picoclaw init で別のモデルを選んでください`,
    useLocal:
      "ローカルのモデルを使う（https://ollama.com/download）か、質問にもクラウドのモデルを許可してください。picoclaw init で選べます",
  },
  doctor: {
    insteadOf: (wanted) => `（${wanted} がありません。picoclaw init で選べます）`,
    newer: (model) => `（新しいモデル: ${model}。picoclaw init で選べます）`,
    role: (role, agent, model) => `${role}（${agent}）のモデル: ${model}`,
    nothingSetUp: "モデルがまだ設定されていません",
    setUp: "picoclaw init（使えるモデルを探して、残りを質問します）、またはキーを貼り付け: picoclaw login",
    cloudToo: "またはコーダーのモデルに質問も任せる: picoclaw chat /cloud on",
    answers: "応答あり",
    pulled: "取得済み",
    scripted: (file) => `${file} から回答`,
    checkTimeout: (seconds, isLocal) =>
      `${seconds} 秒待っても応答なし${isLocal ? "（まだ読み込み中かもしれません）" : ""}`,
    seen: (name, forms, reads, writes) => {
      const form = { whole: "ファイル全体", edits: "編集", json: "JSON" };
      const counts = forms.map(
        ([of, { read, unread, endless, green }]) =>
          `${form[of]} 読めた ${read}、読めなかった ${unread}、終わらなかった ${endless}、成功 ${green}`,
      );
      const speed = reads > 0 ? [`毎秒 ${reads} トークンを読み、${writes} トークンを書く`] : [];
      return `${name} の答え: ${[...counts, ...speed].join("。")}`;
    },
    priceUnknown: (model) => `${model} の料金が不明なため、予算を設定している間は使われません`,
    setPrice: (model) =>
      `budget.prices: { "${model}": { input: …, output: …, cached: … } } を設定してください`,
  },
};

// Made of rules.yaml by scripts/gen-routing-rules.ts.
import type { Rule } from "./rule-pattern.ts";

// biome-ignore format: made by a program
export const SHIPPED_RULES: readonly Rule[] = [
  {
    pattern:
      "^(?:fix|implement|refactor|debug|repair) .{0,60}\\b(?:page|screen|app|form|field|view|button|endpoint|parser|generator|search|module|class|function|tests?)\\b|(?:画面|ページ|アプリ|機能|フォーム|バグ|不具合)を?.{0,20}(?:修正|直|実装|リファクタ(?:リング)?)し(?:て|たい)(?:ください|下さい|ほしい|くれ|もらえ)?(?:ます|か|ね|よ|[ 。.!?]){0,3}$",
    route: "CODE",
    confidence: 0.9,
  },
  {
    pattern:
      "俳句|川柳|短歌|詩を|ジョーク|冗談|小噺|物語|メールを(?:書|考|作|返)|手紙|挨拶文|お祝い|お詫び|献立|名前.{0,6}案|気を[つ付]け",
    route: "CHAT",
    confidence: 0.9,
  },
  {
    pattern:
      "\\b(?:haiku|poem|joke|limerick|cover letter|birthday (?:card|message|wishes)|recipe|lyrics)\\b|\\bwrite (?:me |us )?(?:an? )?(?:[a-z]+ )?(?:e-?mail|letter|speech|toast|story)\\b",
    route: "CHAT",
    confidence: 0.9,
  },
  {
    pattern:
      "\\b(?:who are you|what can you do|your favou?rite|make me (?:laugh|smile|happy)|make sense|change the subject|update me on|do you remember|answer in (?:japanese|english)|tell me a story)\\b|^(?:say|put) that\\b",
    route: "CHAT",
    confidence: 0.9,
    yields: true,
  },
  {
    pattern:
      "あなたは(?:誰|だれ|何)|何ができる|言い直して|(?:英語|日本語)で(?:言|話|答え|返事)|(?:返事|返答|回答|説明|話)(?:を|は|、|,)?.{0,6}(?:短く|簡単に|詳しく)",
    route: "CHAT",
    confidence: 0.9,
    yields: true,
  },
  {
    pattern:
      "^(?:(?:今|いま|現在|さっき)の?)?(?:状態|状況|進捗|ステータス|status|確認)(?:は|を|って)?(?:教えて|確認|見せて|どう)?(?:して)?(?:ください|ね|よ|です|か){0,2}[?!。. ]{0,3}$|\\bwhat's the status\\b",
    route: "CHAT",
    confidence: 1,
    yields: true,
  },
  {
    pattern:
      "計画(?:を(?!変)|だけ|して|し(?:たい|よう|直)|案)|(?:移行|実装|リリース|開発|作業)(?:計画|プラン)|プランを(?:立|考|作|練)|(?:ロードマップ|マイルストーン|優先(?:順位|度))(?:を|も).{0,8}(?:立|考|作|決|引|書|練|整理|付け|つけ)|(?:タスク|作業|ステップ)に(?:分解|分け|分割)|タスク分解|段取り|スケジュールを(?:立|考|組|作|決)|工数|見積も?[りっる]|方針を(?:立|考|決|相談)|進め方を",
    route: "PLAN",
    confidence: 0.9,
  },
  {
    pattern:
      "チケットに(?:分け|分解|切|落と)|(?:何を|いつ|どの順).{0,8}(?:やるか|進めるか|始めるか|着手)|どう(?:分けて|進めれば|進めよう)|どこから(?:手を|着手|始め)|何から(?:始め|やれば|手を)",
    route: "PLAN",
    confidence: 0.85,
  },
  {
    pattern:
      "^plan (?:for|how|out|the|a|this|our|it|to)\\b|\\b(?:implementation|migration|release|project|rollout) plan\\b|\\b(?:make|write|draft|create|need|propose|prepare|give me) (?:me |us )?an? (?:[a-z-]+ )?(?:plan|roadmap|milestones?)\\b|\\binto (?:smaller )?(?:tasks|subtasks|steps|tickets|issues|stories|phases|milestones)\\b|\\bestimate (?:the |how )|\\bpriorit(?:ize|ise)\\b|\\b(?:outline|list) the steps\\b",
    route: "PLAN",
    confidence: 0.9,
  },
  {
    pattern:
      "\\b(?:roadmap|milestones?)\\b|ロードマップ|マイルストーン|優先(?:順位|度)",
    route: "PLAN",
    confidence: 0.9,
    yields: true,
  },
  {
    pattern:
      "^(?:write|draft|prepare|sketch|outline) (?:me |us |up )?(?:an? |the |our )?(?:[a-z-]+ ){0,2}(?:spec|specs|specification|design doc(?:ument)?|requirements|rfc|proposal)\\b(?! (?:files?|tests?|helpers?|runner|suite|parser|reader|page)\\b)(?![.][a-z])|(?:仕様書?|設計書|要件(?:定義書?)?)を(?:書|作|まとめ|起こ|考え)",
    route: "PLAN",
    confidence: 0.9,
  },
  {
    pattern:
      "\\b(?:phase|stage|sequence) the (?:rollout|migration|rewrite|work|release)\\b|\\bschedule for the\\b|\\b(?:what|which) order should\\b|\\bwhere (?:should|do) (?:i|we) (?:start|begin)\\b|\\bwhat (?:should|do) (?:i|we) (?:do|tackle|work on|build) (?:first|next)\\b|\\bscope (?:out|of work)\\b|\\btimeline for\\b",
    route: "PLAN",
    confidence: 0.85,
  },
  {
    pattern:
      "(?:作業|タスク|仕事)を(?:割り振|割り当|分担|整理|並べ)|(?:順序|順番|手順|リスク|やること|スコープ)を.{0,8}(?:整理|決め|洗い出|考え|相談)",
    route: "PLAN",
    confidence: 0.8,
  },
  {
    pattern:
      "\\bhow would you (?:approach|tackle|structure|go about)\\b|\\b(?:figure out|agree on|decide on|think through|think about) the (?:steps|approach|order|phases|scope|plan)\\b|\\bbefore (?:coding|we code|writing (?:any )?code|implementing)\\b",
    route: "PLAN",
    confidence: 0.8,
  },
  {
    pattern:
      "(?:について|に関して)(?:調べ|調査)|調査(?:して|お願い|し[たろ])|リサーチ|ベストプラクティス|論文|文献|事例|公式(?:ドキュメント|サイト|の仕様)|仕様書?を(?:確認|調べ|探|読)|(?:API|api) ?の?仕様(?!書?(?:に|の?(?:とおり|通り|どおり)|通り|どおり|変更|で(?:実装|作|書)|を(?:満た|実装)))|最新(?:の(?:情報|動向|バージョン|仕様|手法|ニュース)|バージョン|情報|動向|版)|競合(?:サービス|他社|製品)|ライブラリを(?:比較|探|調べ|教え|選)|(?:ネット|ウェブ|web)で(?:検索|調べ|探)|ググ|CVE|料金を調べ|おすすめの.{0,8}(?:ライブラリ|ツール|フレームワーク)",
    route: "RESEARCH",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "RFC ?[0-9]{3,5}|何が新しく|(?:料金|価格|性能|特徴)を(?:比べ|比較|調べ)|(?:似た|類似の?|似ている|代わりになる).{0,8}(?:OSS|ツール|サービス|ライブラリ|プロダクト)|(?:ドキュメント|公式)に(?:は|よると)|サポート期限|ライセンスを?(?:調べ|確認)",
    route: "RESEARCH",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "\\brfc ?[0-9]{3,5}\\b|\\bwhat (?:did|do|does) the [a-z ]{2,24}(?:team|docs|documentation|spec|standard|community|authors?|maintainers?)\\b|\\bsupported upstream\\b|\\bfind (?:me )?(?:some )?(?:examples?|alternatives?|benchmarks?|tutorials?) (?:of|for|to)\\b|\\bwhat's new in\\b|\\b(?:pros and cons|state of the art)\\b|\\balternatives to\\b",
    route: "RESEARCH",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "^research\\b|\\bresearch (?:the|how|what|whether|about|on|into|for|best)\\b|\\blook up\\b|\\bsearch (?:the web|online|the internet|for (?:papers|sources|libraries|articles))|\\bfind (?:papers|articles|sources|the official|libraries|a library)\\b|\\blook for sources\\b|\\blatest (?:stable )?version of\\b|\\bcase studies\\b|\\b(?:official|api) (?:docs|documentation)\\b|\\bhow other (?:tools|projects|teams|people)\\b",
    route: "RESEARCH",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "\\bis there (?:an?|any) (?:[a-z-]+ )?(?:library|package|tool)\\b|\\bcompare [a-z ]{0,30}(?:librar(?:y|ies)|frameworks?|packages|services|providers)\\b|\\brate limits? of\\b",
    route: "RESEARCH",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "(?:変更点|違い|新機能|破壊的変更|対応状況|歴史|評判)を(?:調査|調べ)|(?:世の中|一般的に|他社|他のプロジェクト|みんな)(?:で)?(?:は|って)?.{0,6}どう|(?:おすすめ|定番|人気)の?.{0,10}(?:は|って|ある|教え)",
    route: "RESEARCH",
    confidence: 0.8,
    yields: true,
  },
  {
    pattern:
      "\\b(?:changelog|release notes|breaking changes) (?:of|for|in)\\b|\\bfor breaking changes\\b|\\bwhat (?:do|are) (?:most )?(?:people|others|teams|companies) (?:use|using|do|doing)\\b|\\bsearch for (?:an?|the|some)? ?(?:[a-z-]+ ){0,3}(?:fork|library|package|tool|plugin|paper|article)|\\b(?:is|are) [a-z0-9. -]{2,30} still (?:maintained|supported|alive)\\b",
    route: "RESEARCH",
    confidence: 0.8,
    yields: true,
  },
  {
    pattern:
      "ログを確認",
    route: "ANALYZE",
    confidence: 0.9,
    yields: true,
  },
  {
    pattern:
      "ログ(?:を|から|の中|に|で).{0,20}(?:確認|調べ|分析|解析|探|見て|読んで|チェック)|分析(?:して|し[たろ]|を|お願い)|解析して|原因(?:を|は|が|って)|(?:なぜ|なんで|どうして).{0,30}(?:落ち|失敗|遅|動か|壊れ|エラー|出る|起き)|ボトルネック|計測して|測って|プロファイル(?:を取|して)|レビュー(?:して|だけ|お願い|を(?:して|お願い))|スタックトレース",
    route: "ANALYZE",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "どこ(?:で|に|から)(?:使|呼|定義|書|読み込|あ)|どこが|カバレッジを(?:調べ|見|測|確認|教え)|(?:問題|バグ|不具合|漏れ|脆弱性)が?(?:ない|無い|ある)か|洗い出|いくつある|何個ある|数えて|何が変わ|何をして(?:いる|る)|(?:構成|仕組み|処理の流れ|コード|この関数|このファイル)(?:を|について|の)(?:説明|解説|概要)",
    route: "ANALYZE",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "何が(?:悪い|おかしい|問題|起き)|原因[??]|(?:理由|問題|犯人|箇所|場所)を(?:突き止め|特定|調べ|探)|(?:一番|最も|いちばん).{0,16}(?:ファイル|関数|テスト|クエリ|モジュール|処理)は|(?:コード|処理|データ)の流れ|どれくらい(?:遅|重|かか)|(?:影響範囲|依存関係|使用状況|未使用の?.{0,8})を(?:調べ|確認|教え|見|洗)|(?:中身|内容|差分|構造)を(?:見て|見せて|教えて|確認)",
    route: "ANALYZE",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "\\b(?:analy[sz]e|investigate|diagnose|audit|root cause|stack ?trace|what changed|profile the)\\b|^review\\b|\\bhow many\\b|\\bwhich (?:tests?|files?|functions?|modules?)\\b|\\b(?:check|look at|read|go through) the (?:logs?|stack|trace|output)\\b",
    route: "ANALYZE",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "\\b(?:does|do) any(?:thing|one|body)? (?:still )?(?:[a-z]+ )?(?:call|use|depend|import|reference)|^show me (?:the|all|which|where|how)\\b|\\bwalk me through\\b|^find (?:all |any |the )?(?:dead|unused|duplicate|slow|callers|usages|references|places|bugs)|\\bwhat(?:'s| is| are) (?:using|causing|calling|wrong|taking|eating|blocking|slowing)\\b|\\b(?:figure|find) out (?:why|what|where|which)\\b|\\bis (?:there )?(?:any|a) (?:memory leak|race|bug|deadlock|regression)",
    route: "ANALYZE",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "\\bwhy (?:does|do|did|is|are|was|were|isn't|doesn't|won't)\\b.{0,40}\\b(?:fail(?:s|ed|ing)?|crash(?:es|ed|ing)?|slow|hang(?:s|ing)?|break(?:s|ing)?|broken|builds?|tests?|errors?|leak(?:s|ing)?|work(?:s|ing)?)\\b",
    route: "ANALYZE",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "\\bwhere (?:is|are|do|does|was) (?:the |we |it )?[a-z_]|\\bwhere [a-z_.()]{1,30} (?:is|are|gets?) (?:called|defined|used|loaded|set)\\b|\\bexplain what (?:src|this|the|[a-z/_-]{1,30}\\.[a-z])|\\b(?:summari[sz]e|explain|describe) (?:the |this )?(?:structure|architecture|code|repo|repository|codebase|file|function|module)\\b|^list (?:all |the )+(?:endpoints?|files?|functions?|routes?|modules?|dependenc)",
    route: "ANALYZE",
    confidence: 0.85,
    yields: true,
  },
  {
    pattern:
      "(?:ない|無い|ある|おかしい|正しい|合っている|合ってる|大丈夫)か(?:どうか)?を?(?:調べ|確認|見て|チェック|教え)|(?:かかる|遅い|重い|落ちる|失敗する|出る|動かない|消える)(?:のは)?(?:なぜ|なんで|どうして)|どのタイミング|どういう仕組み|(?:PR|プルリク|差分|コード|実装|ファイル|ログ|スタックトレース) ?を?(?:ちょっと)?見て(?:もらえ|くれ|ください|ほしい|みて|[?]|$)",
    route: "ANALYZE",
    confidence: 0.8,
    yields: true,
  },
  {
    pattern:
      "^(?:take a look at|have a look at|look over|inspect|examine|check (?:whether|if|that|for))\\b|\\bare there any\\b.{0,30}\\b(?:imports?|bugs?|tests?|leaks?|errors?|warnings?|references?|calls?|vulnerabilit|duplicates?|usages?)|\\bhow (?:long|often|much memory|slow|big) (?:do|does|did|is|are)\\b|\\bwhat does [a-z_.()]{2,30} do\\b|\\bwhat happens (?:when|if)\\b",
    route: "ANALYZE",
    confidence: 0.8,
    yields: true,
  },
  {
    pattern:
      "^(?:there (?:is|are|seems to be)|there's|i (?:found|see|get|have|hit)|we (?:found|see|get|have|hit)|found|got|still) (?:an? |the |some )?(?:[a-z-]+ )?(?:bugs?|regressions?|crash(?:es)?|typos?|memory leak|race condition|type errors?|errors?|exceptions?|failing tests?) (?:in|with|on|when|at|if|after|while|during)\\b",
    route: "CODE",
    confidence: 0.85,
  },
  {
    pattern:
      "^(?:the |our |my |all |some |two |these )?(?:unit |integration |e2e )?(?:tests?|builds?|checks?|ci|lint(?:er)?|type ?check|suite|pipeline) (?:(?:is|are|turned|went|keeps?) (?:still |now |all )?(?:red|failing|broken|crashing)|fails?|(?:just )?broke)(?: (?:on|in|since|after|again|now|with)\\b.{0,40})?$",
    route: "CODE",
    confidence: 0.8,
  },
  {
    pattern:
      "(?:テスト|ビルド|CI|チェック|lint).{0,8}(?:赤い(?:です)?|赤く|落ちて(?:い)?(?:る|ます)|落ちました|失敗して(?:い)?(?:る|ます)|失敗しました|通らない|通りません|壊れて(?:い)?(?:る|ます)|壊れ(?:た|ました)|こけて(?:い)?(?:る|ます))(?:[。.! ]|ので|から|のを|けど|んだけど|んですが)?(?:見て|みて|直して|確認して|お願い|$)",
    route: "CODE",
    confidence: 0.8,
  },
  {
    pattern:
      "^(?!why|what|how|when|who|where|which|if|is|does|do\\b).{2,40} (?:crashes|crashed|hangs|freezes|breaks|fails) (?:when|if|after|while|as soon as|every time|whenever) ",
    route: "CODE",
    confidence: 0.8,
  },
  {
    pattern:
      "^(?!why|what|how|when|who|where|which|if|is|does|do\\b).{2,40} throws (?:an? )?[a-z]{0,20}(?:error|exception)\\b",
    route: "CODE",
    confidence: 0.8,
  },
  {
    pattern:
      "(?:すると|したら|押すと|開くと|送ると|だと|のときに?)、?.{0,24}(?:エラー(?:が(?:出|起き|発生)|にな)|例外が(?:出|発生)|落ち|クラッシュ|固ま|動かない|動きません)[るりっますしたてい]{0,5}[。.! ]{0,3}$",
    route: "CODE",
    confidence: 0.8,
  },
  {
    pattern:
      "(?:バグ|不具合)が(?:ある|あります|あった|ありました|出(?:る|ます|ている|ています)|見つか(?:った|りました))(?:[。.! ]|$|ので|から|みたい|ようです|んだけど|んですが)",
    route: "CODE",
    confidence: 0.85,
  },
  {
    pattern:
      "(?:新しい|新規の?)?ブランチを(?:切|作)|\\b(?:create|make|cut) (?:a |the )?(?:new )?branch\\b|キャッシュを(?:クリア|消|削除)|(?:イメージ|コンテナ|環境|インデックス)を(?:作り直|立て直|再構築|再作成|落と|止め|消)|プル?リク(?:エスト)?を?(?:出|作|投げ|送)|\\b(?:open|create|make|submit|send) (?:a |the )?(?:pull request|pr|merge request)\\b",
    route: "OPS",
    confidence: 0.9,
    yields: true,
  },
  {
    pattern:
      "^(?:if (?:so|not|none|needed|necessary) )?(?:fix|implement|refactor|debug|repair)\\b(?! (?:up|me|for|is|was|works|worked)\\b)|^(?:read|check|look|review|find|search|see|follow|consult|study|open|create|cut|make|run|rerun|reproduce|investigate|analy[sz]e|diagnose|research|compare|figure|trace|profile|audit|verify|inspect|go|take|pull|switch|update|use) .{0,80}\\band (?:then )?(?:fix|implement|refactor|debug|repair|correct|rewrite|patch|rename|make (?:it|them|both))\\b|^correct (?:it|that|this|both|them)\\b|^(?:both|it|this|that|these|they|the [a-z ]{2,30}) (?:needs?|must|should|has|have) (?:to )?(?:be |get )?(?:fixed|fixing|corrected|implemented)\\b",
    route: "CODE",
    confidence: 0.9,
    order: true,
  },
  {
    pattern:
      "^(?:if (?:so|not|none|needed|necessary) )?(?:add|remove|delete|rename|replace|update|change|convert|port|move|extract|split|handle|support|bump|upgrade|inline|simplify|rewrite|correct|patch|append|insert|set|drop|adjust|adapt|clamp|extend|migrate|write (?:an? |the |some )?(?:[a-z]+ )?(?=tests?|function|script|class))\\b(?! (?:me|my|on|up with|for)\\b).{0,80}(?:\\b(?:functions?|methods?|class|parsers?|loaders?|readers?|handlers?|hooks?|headers?|variables?|modules?|imports?|types?|tests?|code|api|endpoints?|components?|buttons?|pages?|forms?|fields?|cookies?|tokens?|cache|query|schema|config|flags?|options?|defaults?|exceptions?|callbacks?|scripts?|regex|constants?)\\b|⟦code⟧|[a-z0-9_][.](?:[cm]?[jt]sx?|py|go|rs|rb|java|c|cpp|h|php|css|html|json|ya?ml|toml|md|sh)\\b|[a-z0-9]_[a-z0-9]|[a-z0-9]\\()",
    route: "CODE",
    confidence: 0.9,
    order: true,
  },
  {
    pattern:
      "^(?:use|pass|call|return|throw|raise|switch) .{0,60}(?:⟦code⟧|[a-z0-9_][.](?:[cm]?[jt]sx?|py|go|rs|rb|java|c|cpp|php|css|html|json|ya?ml|toml)\\b|[a-z0-9]_[a-z0-9]|[a-z0-9]\\()|^(?:return|throw|raise) (?:null|nil|none|undefined|true|false|[a-z]*error\\b|[0-9])|^make (?:the|it|this|that|both|them|sure|every|all)\\b.{0,80}\\b(?:return|accept|reject|throw|handle|parse|work|match|follow|comply|conform|ignore|respect|escape|compliant)",
    route: "CODE",
    confidence: 0.9,
    order: true,
  },
  {
    pattern:
      "(?:修正|実装|リファクタ(?:リング)?|リネーム|改名|デバッグ|fix|refactor|rename|implement|debug|(?:^|[^りげしえきちい])直|書き直|書き換え|置き換え)を?(?:(?:さ?せ|し)?(?:てお?|とい?て?|たい)|お?願い|頼む|ほしい|欲しい)(?:ください|下さい|ほしい|欲しい|もらえ|もらってい|いて|くれ|頂け|いただけ)?(?:し|る|ます|ない|です|ん|だ|けど|が|と助かる|か|よ|ね|な|い|[ 。.!?]){0,4}$",
    route: "CODE",
    confidence: 0.9,
    order: true,
  },
  {
    pattern:
      "(?:[a-z0-9_][.][a-z]{1,5}|⟦code⟧|関数|変数|クラス|メソッド|コード|画面|ボタン|ヘッダー?|ページ|フォーム|メニュー|API|エンドポイント|テスト|型|引数|戻り値|例外|警告|クエリ|スキーマ|スクリプト|README|コメント|設定ファイル|import|バリデーション|オプション|フラグ|上限|既定値|デフォルト).{0,30}(?:(?:追加|変更|削除|除去|置換|改善|最適化|移植|分割|共通化|対応|移動|統一|に|よう|く|化)し|消し|取り除い|切り出し|変え|足し|加え|入れ|付け|つけ|増やし|減らし)(?:て|といて|たい)(?:ください|下さい|ほしい|欲しい|おいて|もらえますか|くれますか|くれ)?(?:です|ね|よ|[ 。.!?]){0,2}$",
    route: "CODE",
    confidence: 0.9,
    order: true,
  },
  {
    pattern:
      "ファイルを作成",
    route: "CODE",
    confidence: 0.95,
  },
  {
    pattern:
      "(?:修正|実装|追加|リファクタ(?:リング)?|リネーム|改名|変更|削除|除去|置換|改善|最適化|移植|分割|共通化|抽象化|作成|対応|移動|翻訳|統一|fix|refactor|rename|implement)を?(?:(?:さ?せ|し)(?:てお?|とい?て?|たい)|でき(?:る|ます)|お願い|頼む|ほしい|欲しい|$)(?:ください|下さい|ほしい|欲しい|もらえ|もらってい|いて|くれ|頂け|いただけ)?(?:し|る|ます|ない|です|ん|だ|けど|が|と助かる|か|よ|ね|な|い|[ 。.!?]){0,4}$",
    route: "CODE",
    confidence: 0.9,
  },
  {
    pattern:
      "(?:(?:^|[^りげしえきち])直し|書き直し|書き換え|置き換え|消し|取り除い|切り出し|変え|替え|足し|加え|入れ|付け|つけ|増やし|減らし|作っ|作り|書い|書き|を上げ|を下げ|に移し|にまとめ)(?:て|とい?て|たい)(?:おいて)?(?:ください|下さい|ほしい|欲しい|もらえ|もらってい|おいて|くれ|頂け|いただけ)?(?:る|ます|ない|です|ん|だ|けど|が|と助かる|か|よ|ね|な|い|[ 。.!?]){0,4}$",
    route: "CODE",
    confidence: 0.9,
  },
  {
    pattern:
      "(?:[a-z0-9_]\\.[a-z]{1,5}|関数|変数|クラス|メソッド|コード|画面|ボタン|ヘッダー?|フッター?|ロゴ|ページ|フォーム|タイトル|文字|フォント|色|背景|幅|余白|メニュー|リンク|一覧|API|処理|警告|テスト|型|定数|引数|戻り値|デフォルト|フォーマット|インデント|設定値?|エラー|ログ|出力|画像|リスト|文|ネスト|メッセージ|項目|行|列|トークン|JSON|CSS|HTML).{0,30}(?:くして|にして|[統揃]一?して|取って|なくして|無くして|かけて|外して|揃えて|合わせて|そろえて|ようにして|化して|整理して|表示して|隠して|並べて|閉じて|返して)(?:ください|下さい|ほしい|欲しい|もらえ|おいて|くれ|よ|ね|です|[ 。.!?]){0,4}$",
    route: "CODE",
    confidence: 0.85,
  },
  {
    pattern:
      "(?:機能|オプション|ボタン|画面|ページ|フラグ|テスト|コマンド|エンドポイント)が?(?:ほしい|欲しい)|(?:機能|オプション|ボタン|フラグ)(?:を|も)(?:用意|準備|サポート)して",
    route: "CODE",
    confidence: 0.85,
  },
  {
    pattern:
      "(?:非同期|同期|並列|共通|汎用|型安全|オプション|読み取り専用|private|async)(?:に|化)して",
    route: "CODE",
    confidence: 0.9,
  },
  {
    pattern:
      "^(?:fix|implement|refactor|rename|remove|delete|replace|update|change|convert|port|rewrite|extract|split|add|create|write|generate|handle|support|bump|upgrade|translate|move|inline|simplify|optimi[sz]e|document|make (?:the|it|this|a|an|all|sure)|correct|patch|append|insert|scaffold)\\b(?! (?:on|up with|my mind|me a|[0-9]))",
    route: "CODE",
    confidence: 0.9,
  },
  {
    pattern:
      "^(?:turn (?:the|this|that|these|all)\\b.{1,40}\\binto\\b|use [^ ]{1,30}$|use .{1,40}\\b(?:in|for|everywhere)\\b|set (?:the|up|a|an|default)\\b|clean up\\b|wrap (?:the|this|all|every)\\b|get rid of\\b|hook up\\b|wire (?:up|in)\\b|enable\\b|disable\\b|introduce\\b|reformat\\b|format (?:the|all|this)\\b|sort (?:the|all)\\b|deduplicate\\b|drop (?:the|support)\\b|swap\\b|hide\\b|rework\\b|restructure\\b|tidy\\b|finish (?:the|this)\\b|build (?:a|an|me a) (?!release))",
    route: "CODE",
    confidence: 0.85,
  },
  {
    pattern:
      "^(?:i'd like|i want|i would like|we want|it would be (?:nice|great|good) (?:if|to have)) (?:the|a|an|every|all) .{2,60}\\b(?:to|that|which|should|could|button|page|option|flag|field|field|test)\\b",
    route: "CODE",
    confidence: 0.8,
  },
  {
    pattern:
      "\\band (?:then )?(?:fix|implement|refactor|repair|correct|rewrite)\\b",
    route: "CODE",
    confidence: 0.85,
  },
  {
    pattern:
      "(?:デプロイ|再起動|ロールバック|インストール|バックアップ|リリース|コミット|プッシュ|マージ|ビルド|起動|停止|実行|push|pull|merge|commit|deploy|build|checkout|rebase|stash|fetch) ?(?:を|だけ)?(?:して(?!い|くれ[たて]|おいた|ある|しま|みた|も)|し直|したい|しよう|お願い|頼|取って|かけて|$)|立ち上げて|(?:マイグレーション|テスト|スクリプト|コマンド|lint|install|build|ビルド|test) ?(?:を|だけ)?(?:全部|一通り|ざっと)?(?:走らせ|回して|流して|叩いて|かけて)|(?:サーバー?|プロセス|コンテナ|サービス|ジョブ)を.{0,6}(?:落とし|止め|殺し|kill)|(?:リモート|上流|upstream|origin|main)(?:の変更)?を(?:取り込|引っ張|pull)",
    route: "OPS",
    confidence: 0.9,
  },
  {
    pattern:
      "^(?:deploy|restart|reboot|run|execute|start (?:the|a|up)|stop the|kill|launch|build|install|commit|push|pull|merge|rebase|release|tag|roll ?back|back ?up|clear the cache|shut ?down|spin up|checkout|check out|stage|rerun|re-run|reinstall|redeploy|git [a-z]+|switch to (?:main|master|the [a-z-]+ branch)|rotate the|bring (?:the |up |down )[a-z ]{2,30}|tear down|provision|ssh)\\b",
    route: "OPS",
    confidence: 0.9,
  },
  {
    pattern:
      "\\b(?:npm|yarn|pnpm|bun|npx|docker|docker-compose|kubectl|terraform|systemctl|cargo|pip|apt|brew) (?:run |compose )?[a-z:-]+ ?(?:して|を|$)|^(?:publish|try running|re-?start|upgrade the server|scale|ping|curl|trigger|schedule)\\b|(?:タグ|tag)を(?:打|付け|つけ|切)|(?:上げ|立て|やり|流し)直して",
    route: "OPS",
    confidence: 0.85,
  },
  {
    pattern:
      "^(?!.*(?:教えて|説明して|見せて|見て|調べて|探して|読んで|聞いて|聞かせて|考えて|待って|話して|手伝って|試して|比べて|要約して|選んで|決めて|数えて|確認して|起動して|実行して|流して|走らせて|回して|貸して|知って|されて))(?:.{0,60})(?:[a-z0-9_][.][a-z]{1,5}|関数|変数|クラス|メソッド|コード|画面|ボタン|ヘッダー?|フッター?|ページ|フォーム|メニュー|API|エンドポイント|テスト|型|引数|戻り値|エラー|例外|警告|cookie|JSON|CSS|HTML|SQL|クエリ|テーブル|カラム|スキーマ|スクリプト|README|コメント|設定ファイル|import|バリデーション)(?:.{0,30})[^てで][てで](?:ください|下さい|ほしい|欲しい|もらえ|もらってい|おいて|くれ)?(?:ます)?[よねかい 。.!?]{0,4}$",
    route: "CODE",
    confidence: 0.75,
  },
  {
    pattern:
      "^(?!(?:what|why|how|when|where|who|which|is|are|was|were|do|does|did|have|has|can|could|should|would|will|may|i|i'm|i've|i'll|you|you're|we|they|he|she|it|it's|that|that's|this|these|those|the|a|an|there|there's|my|your|our|no|not|yes|if|as|for|in|on|at|with|but|or|because|after|before|tell|explain|show|give|list|find|look|search|compare|think|talk|help|thanks|thank|say|see|sorry|good|nice|never|maybe|check|read|learn|all|some|any)\\b)[a-z]{2,15} .{0,60}\\b(?:functions?|methods?|class|variables?|modules?|imports?|types?|tests?|api|endpoints?|handlers?|components?|buttons?|pages?|forms?|fields?|sidebar|menu|cookies?|tokens?|cache|result|quer(?:y|ies)|schema|config|flags?|errors?|exceptions?|callbacks?|json|css|html|sql|readme|comments?|scripts?|404|500|null|undefined|[a-z_]{1,20}[.](?:ts|js|py|go|rs|tsx|jsx|json|ya?ml|md|css|html))\\b",
    route: "CODE",
    confidence: 0.75,
  },
  {
    pattern:
      "^(?:i|we) need (?:an?|some|the) .{0,30}\\b(?:script|function|test|tests|page|button|endpoint|component|flag|option|helper|class|command)\\b",
    route: "CODE",
    confidence: 0.8,
  },
  {
    pattern:
      "^(?:hi|hello|hey|yo|ok|okay|thanks|thank you|thx|lol|cool|great|nice|good (?:morning|night|evening|job)|never mind|nvm|sure|yes|no|bye)(?: (?:there|you|so much|a lot|then|all))?[ !.,?]{0,3}$",
    route: "CHAT",
    confidence: 0.85,
  },
  {
    pattern:
      "^(?:こんにち[はわ]|こんばん[はわ]|おはよう|おやすみ|ありがと|どうも|了解|なるほど|はい|いいえ|うん|よろしく|お疲れ|おつかれ|ごめん|すみません$)(?!と)",
    route: "CHAT",
    confidence: 0.85,
  },
  {
    pattern:
      "^(?:what|who)(?: is| are|'s) (?:an? |the )?[a-z-]{2,20}(?: [a-z-]{2,20})?[?]?$|\\bdifference between\\b|\\bwhat does .{1,30} mean\\b|^(?:should i|is it better|how (?:do|can|should) (?:i|you|one)|how to)\\b|って(?:何|なに)|とは[??]?$|どう思|どっちが|どういう意味|今何時|天気",
    route: "CHAT",
    confidence: 0.8,
  },
];

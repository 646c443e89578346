import type { texts as en } from "../en/index.ts";
import { chatTexts as chat } from "../chat.ja.ts";
import { checksTexts as checks } from "../checks.ja.ts";
import { commandsTexts as commands } from "../policy.ja.ts";
import { consoleTexts as webConsole } from "../web.ja.ts";
import { dockerTexts as docker } from "../ja-docker.ts";
import { environmentsTexts as environments } from "../containers.ja.ts";
import { fleetTexts as fleet } from "../fleet.ja.ts";
import { helpTexts as help } from "../cli.ja.ts";
import { lineTexts as line } from "../channels.ja.ts";
import { manageTexts as manage } from "../ja-manage.ts";
import { memoryTexts as memory } from "../ja-memory.ts";
import { modelsTexts as models } from "../models.ja.ts";
import { serveTexts as serve } from "../serve.ja.ts";
import { setupTexts as setup } from "../setup.ja.ts";
import { slackTexts as slack } from "../ja-slack.ts";
import { solveTexts as solve } from "../tasks.ja.ts";
import { tasksTexts as tasks } from "../ja-tasks.ts";
import { telegramTexts as telegram } from "../ja-telegram.ts";

/** All columns but those of `at-start.ts`. */
export const texts: typeof en = {
  chat,
  checks,
  commands,
  console: webConsole,
  docker,
  environments,
  fleet,
  help,
  line,
  manage,
  memory,
  models,
  serve,
  setup,
  slack,
  solve,
  tasks,
  telegram,
};

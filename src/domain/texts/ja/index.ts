import type { texts as en } from "../en/index.ts";
import { chatTexts as chat } from "./chat.ts";
import { checksTexts as checks } from "./checks.ts";
import { commandsTexts as commands } from "./commands.ts";
import { consoleTexts as webConsole } from "./console.ts";
import { dockerTexts as docker } from "./docker.ts";
import { environmentsTexts as environments } from "./environments.ts";
import { fleetTexts as fleet } from "./fleet.ts";
import { helpTexts as help } from "./help.ts";
import { lineTexts as line } from "./line.ts";
import { manageTexts as manage } from "./manage.ts";
import { memoryTexts as memory } from "./memory.ts";
import { modelsTexts as models } from "./models.ts";
import { serveTexts as serve } from "./serve.ts";
import { setupTexts as setup } from "./setup.ts";
import { slackTexts as slack } from "./slack.ts";
import { solveTexts as solve } from "./solve.ts";
import { tasksTexts as tasks } from "./tasks.ts";
import { telegramTexts as telegram } from "./telegram.ts";

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

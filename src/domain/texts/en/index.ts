import { chatTexts as chat } from "../chat.en.ts";
import { checksTexts as checks } from "../checks.en.ts";
import { commandsTexts as commands } from "../policy.en.ts";
import { consoleTexts as webConsole } from "../web.en.ts";
import { dockerTexts as docker } from "../docker.ts";
import { environmentsTexts as environments } from "../containers.en.ts";
import { fleetTexts as fleet } from "../fleet.en.ts";
import { helpTexts as help } from "../cli.en.ts";
import { lineTexts as line } from "../channels.en.ts";
import { manageTexts as manage } from "../manage.ts";
import { memoryTexts as memory } from "../memory.ts";
import { modelsTexts as models } from "../models.en.ts";
import { serveTexts as serve } from "../serve.en.ts";
import { setupTexts as setup } from "../setup.en.ts";
import { slackTexts as slack } from "../slack.ts";
import { solveTexts as solve } from "../tasks.en.ts";
import { tasksTexts as tasks } from "../tasks.ts";
import { telegramTexts as telegram } from "../telegram.ts";

/** All columns but those of `at-start.ts`. */
export const texts = {
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

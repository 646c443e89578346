import type { Route } from "../config/route.ts";

/** Who answers what. */
export type AgentName = "Mio" | "Shiro" | "Aka" | "Ao" | "Gin";
export type AgentRole = "chat" | "worker" | "coder1" | "coder2" | "coder3";
export type CoderRole = Extract<AgentRole, `coder${number}`>;

const AGENT_NAMES: Readonly<Record<AgentRole, AgentName>> = {
  chat: "Mio",
  worker: "Shiro",
  coder1: "Aka",
  coder2: "Ao",
  coder3: "Gin",
};

export function agentOf(role: AgentRole): AgentName {
  return AGENT_NAMES[role];
}

/** `CODE` is the configured default coder. */
export function roleOf(route: Route, defaultCoder: CoderRole): AgentRole {
  switch (route) {
    case "CHAT":
    case "PLAN":
      return "chat";
    case "ANALYZE":
    case "OPS":
    case "RESEARCH":
      return "worker";
    case "CODE":
      return defaultCoder;
    case "CODE1":
      return "coder1";
    case "CODE2":
      return "coder2";
    case "CODE3":
      return "coder3";
  }
}

export function isCoderRole(role: AgentRole): role is CoderRole {
  return role !== "chat" && role !== "worker";
}

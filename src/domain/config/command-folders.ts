/** Folders of a workspace whose commands and skills are read, once they are trusted; the first one that has a name wins. */
export const COMMAND_FOLDERS = [".picoclaw", ".agents", ".claude"] as const;

/** The file of a workspace that names MCP servers for every agent that works there; read once it is trusted. */
export const MCP_FILE = ".mcp.json";

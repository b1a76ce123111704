/** Brings console/dist up to date. */
export function buildConsole(): Promise<void>

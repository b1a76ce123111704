/** Brings console/dist up to date. */
export function buildConsole(onBuild?: () => void): Promise<void>

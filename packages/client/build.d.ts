/** Brings client/dist up to date. */
export function buildClient(onBuild?: () => void): Promise<void>

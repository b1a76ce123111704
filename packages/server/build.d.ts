/** Builds dist/ unless it is up to date. */
export function buildServer(onBuild?: () => void): Promise<void>

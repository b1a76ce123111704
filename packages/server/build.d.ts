/** Builds dist/ unless it is up to date. */
export function buildServer(): Promise<void>

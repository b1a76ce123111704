/** Builds dist/ unless it is up to date. */
export function bundleServer(): Promise<void>

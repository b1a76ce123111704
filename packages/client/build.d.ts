/** Brings client/dist up to date. */
export function buildClient(): Promise<void>

/** What the replicating process logs, through the server. */

export type ReplicationLog = (level: 'info' | 'warn' | 'error', message: string, details?: object) => void

export function describeError(error: unknown): { readonly message: string; readonly stack?: string | undefined } {
  return error instanceof Error ? { message: error.message, stack: error.stack } : { message: String(error) }
}

/** Where administration commands go: to the data of this machine, or with a login to a running server. */

import type { AdminRoute } from '../../admin/route.ts'
import type { LoadedConfig } from '../../config.ts'
import type { Answer } from './command.ts'

export interface AdminConnection {
  request(method: AdminRoute['method'], target: string, options?: { body?: unknown; ifMatch?: string }): Promise<Answer>
  close(): Promise<void>
}

/** Each way is loaded only where it is gone. */
export async function connect(loaded: LoadedConfig, begins: boolean): Promise<AdminConnection> {
  if (loaded.config.server === '') return (await import('./local.ts')).connectLocally(loaded, begins)
  return (await import('./remote.ts')).connectRemotely(loaded.config.server)
}

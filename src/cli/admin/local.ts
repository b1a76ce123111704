/** Administration of the data on this machine; a running server feels every change through the database. */
import { userInfo } from 'node:os'
import { callInProcess } from '../../admin/in-process.ts'
import { createKeyring } from '../../admin/keyring.ts'
import { createLive } from '../../admin/live.ts'
import { showSettings } from '../../admin/settings.ts'
import type { LoadedConfig } from '../../config.ts'
import { type Offline, withData } from '../../offline.ts'
import type { Principal } from '../../protocol/principal.ts'
import { SCOPES } from '../../protocol/scopes.ts'
import { hashPassword } from '../../store/password-hash.ts'
import type { AdminConnection } from './connection.ts'

export async function connectLocally(loaded: LoadedConfig): Promise<AdminConnection> {
  const { data, close } = await holdData(loaded)
  const caller = localOperator()
  const env = {
    ...data,
    publish: (event: Parameters<typeof data.stores.events.append>[0]) => data.stores.events.append(event),
    keyring: createKeyring({
      keys: data.stores.signingKeys,
      sealingKey: data.masterKey.derive('signing keys'),
      clock: data.clock,
      publish: (event) => data.stores.events.append(event),
    }),
    hashPassword,
    settings: () => showSettings(loaded),
    live: createLive(data.nodes),
  }
  return {
    async request(method, target, { body, ifMatch } = {}) {
      const reply = await callInProcess(env, { method, target, body, ifMatch, caller })
      return { body: reply.body, lines: reply.lines }
    },
    close,
  }
}

/** `withData` closes when its work ends: the work here lasts until the connection is closed. */
function holdData({ config }: LoadedConfig): Promise<{ data: Offline; close(): Promise<void> }> {
  return new Promise((resolve, reject) => {
    let finish: () => void = () => {}
    const finished = new Promise<void>((done) => {
      finish = done
    })
    const work = withData(config, async (data) => {
      resolve({
        data,
        close: () => {
          finish()
          return work
        },
      })
      await finished
    })
    work.catch(reject)
  })
}

/** Whoever can write the data folder is an administrator already. */
function localOperator(): Principal {
  const name = userInfo().username
  return {
    subject: `local:${name}`,
    kind: 'user',
    clientId: 'command-line',
    scopes: new Set(SCOPES),
    roles: [],
    audiences: [],
    tokenId: '',
    sessionId: undefined,
    grantId: undefined,
    username: name,
    displayName: name,
    issuedAt: 0,
    expiresAt: Number.MAX_SAFE_INTEGER,
    authTime: undefined,
  }
}

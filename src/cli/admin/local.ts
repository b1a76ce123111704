/** Administration of the data on this machine; a running server feels every change through the database. */
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { callInProcess } from '../../admin/in-process.ts'
import { createKeyring } from '../../admin/keyring.ts'
import { createLive } from '../../admin/live.ts'
import { showSettings } from '../../admin/settings.ts'
import type { LoadedConfig } from '../../config.ts'
import { type Offline, withData } from '../../offline.ts'
import type { Principal } from '../../protocol/principal.ts'
import { SCOPES } from '../../protocol/scopes.ts'
import { BadDataFolder, MARK } from '../../store/data-folder.ts'
import { hashPassword } from '../../store/password-hash.ts'
import type { AdminConnection } from './connection.ts'

export async function connectLocally(loaded: LoadedConfig, begins: boolean): Promise<AdminConnection> {
  if (!begins) refuseNoData(loaded)
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

/** A mistyped folder must not look like an installation without users and with a whole audit log. */
function refuseNoData({ config: { data, databaseUrl } }: LoadedConfig): void {
  if (databaseUrl !== '' || existsSync(join(data, MARK))) return
  throw new BadDataFolder(`There is no data of gatehouse in ${data}: name its folder with --data or GATEHOUSE_DATA.`)
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

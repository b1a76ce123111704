/** Administration of the data on this machine; a running server learns of changes through the database. */
import { userInfo } from 'node:os'
import { type Principal, SCOPES } from 'gatehouse-protocol'
import { callInProcess } from '../../admin/in-process.ts'
import { createKeyring } from '../../admin/keyring.ts'
import { createClusterActivity } from '../../admin/node-activity.ts'
import { showSettings } from '../../admin/settings.ts'
import { chooseIssuer } from '../../config/issuer.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { effectiveWirePort } from '../../config/wire.ts'
import { readDefinitions } from '../../declarative/export.ts'
import { openMailIfSet } from '../../server/mail.ts'
import { type Offline, withData } from '../../server/offline.ts'
import { agentAccess } from '../../server/options.ts'
import { administerFolder } from '../../server/replication.ts'
import { hashPassword } from '../../store/accounts/password-hash.ts'
import { builtInClients } from '../../store/clients/built-in-clients.ts'
import type { AdminRequest } from './admin-command.ts'

export async function connectLocally(loaded: LoadedConfig): Promise<{ request: AdminRequest; close(): Promise<void> }> {
  const { data, close } = await openData(loaded)
  const caller = localOperator()
  // The server may have been started with other settings than this command.
  const issuer = (await data.stores.nodes.running())[0]?.issuer ?? chooseIssuer(loaded.config, loaded.config.port)
  const env = {
    ...data,
    issuer,
    publish: (event: Parameters<typeof data.stores.events.append>[0]) => data.stores.events.append(event),
    // A running server reads it from the event log.
    receive: () => {},
    keyring: createKeyring({
      keys: data.stores.signingKeys,
      sealingKey: data.masterKey.derive('signing keys'),
      clock: data.clock,
      publish: (event) => data.stores.events.append(event),
    }),
    hashPassword,
    builtInClients: builtInClients({
      ...loaded.config,
      issuer: chooseIssuer(loaded.config),
      wire: effectiveWirePort(loaded.config) !== undefined,
      agentScopes: agentAccess(loaded.config, issuer)?.scopes,
    }),
    settings: () => showSettings(loaded),
    activity: createClusterActivity(data.nodes),
    definitions: async () => (loaded.config.services.includes('query') ? data.withTables(readDefinitions) : undefined),
    reload: async () => {},
    providerKey: data.masterKey.derive('providers'),
    provisioning: loaded.config.scim,
    // Only a server loads their modules; it does not use a declared controller or feed with the name of one of them.
    loadedControllers: [],
    replication: await administerFolder(loaded.config),
    feeds: undefined,
    columns: undefined,
    retention: undefined,
    mail: await openMailIfSet(loaded.config, issuer, data),
    stopping: new AbortController().signal,
  }
  return {
    async request(method, target, { body, ifMatch } = {}) {
      const reply = await callInProcess(env, { method, target, body, ifMatch, caller })
      return { body: reply.body, lines: reply.lines }
    },
    close,
  }
}

/** Turns the callback of `withData` into an open and a close. */
async function openData({ config }: LoadedConfig): Promise<{ data: Offline; close(): Promise<void> }> {
  const opened = Promise.withResolvers<Offline>()
  const closed = Promise.withResolvers<void>()
  const work = withData(config, (data) => {
    opened.resolve(data)
    return closed.promise
  })
  work.catch(opened.reject)
  return {
    data: await opened.promise,
    close() {
      closed.resolve()
      return work
    },
  }
}

/** Anyone who can write the data folder is an administrator already. */
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

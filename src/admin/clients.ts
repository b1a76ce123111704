/** Administration of clients: what each application may do, and the secrets by which it proves itself. */
import { randomBytes } from 'node:crypto'
import { clientTarget } from '../declarative/targets.ts'
import { type ClientMetadata, toClient } from '../store/client-metadata.ts'
import { newId, newSecret } from '../store/opaque.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, instant, type JsonObject, merged, readClient, readObject } from './body.ts'
import { change, record, recordPatch } from './change.ts'
import { checkMatch, created, requireMatch, tagged } from './etag.ts'
import { type AdminEnv, type AdminRoute, conflict, notFound, part } from './route.ts'
import { CLIENT_SCHEMA } from './schemas.ts'
import { takeBack } from './users.ts'

const MOST_SECRETS = 2

export const clientRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/clients',
    scope: 'Identity/Admin',
    summary: 'Lists clients by their id.',
    reply: '{"items": […]}',
    async run(_call, { stores }) {
      const clients = await stores.clients.list()
      const items = await Promise.all(clients.map(({ id }) => presentClient(stores, id)))
      return { body: { items } }
    },
  },
  {
    method: 'POST',
    path: '/admin/clients',
    scope: 'Identity/Admin',
    summary: 'Registers a client; a confidential one receives a secret that is shown this once.',
    body: CLIENT_SCHEMA,
    reply: 'The client, with client_secret where it has one.',
    status: 201,
    async run(call, env) {
      const metadata = readMetadata({ client_id: randomBytes(9).toString('base64url'), ...readObject(call.body) })
      const secret = metadata.token_endpoint_auth_method === 'none' ? undefined : newSecret()
      const client = await change(env, async (stores) => {
        if ((await stores.clients.metadata(metadata.client_id)) !== undefined)
          throw conflict(`There is already a client ${metadata.client_id}`)
        await stores.clients.put(metadata)
        if (secret !== undefined) await stores.clients.addSecret(metadata.client_id, secret)
        return await presentClient(stores, metadata.client_id)
      })
      await env.publish({ kind: 'clients-changed', clientId: metadata.client_id })
      await tell(env, undefined, metadata)
      record(env, call, { event: 'client.created', target: metadata.client_id, details: { source: 'admin' } })
      return created(
        client,
        `/admin/clients/${encodeURIComponent(metadata.client_id)}`,
        secret === undefined ? {} : { client_secret: secret },
      )
    },
  },
  {
    method: 'GET',
    path: '/admin/clients/{client}',
    scope: 'Identity/Admin',
    summary: 'Shows a client.',
    reply: 'The client.',
    async run(call, { stores }) {
      return tagged(await presentClient(stores, part(call, 'client')))
    },
  },
  {
    method: 'PATCH',
    path: '/admin/clients/{client}',
    scope: 'Identity/Admin',
    summary:
      'Changes a client (JSON merge patch); disabling cuts every token it has, and a scope that it loses is lost to them too.',
    body: CLIENT_SCHEMA,
    reply: 'The client as it is now.',
    async run(call, env) {
      const id = part(call, 'client')
      const patch = readObject(call.body)
      if (patch.client_id !== undefined && patch.client_id !== id)
        throw badBody([{ path: 'client_id', text: 'cannot be changed: register another client' }])
      const { before, after, shown } = await change(env, async (stores) => {
        const found = await findMetadata(stores, id)
        requireMatch(call, await presentClient(stores, id))
        const wanted = readMetadata(merged({ ...found }, patch))
        await stores.clients.put(wanted)
        return { before: found, after: wanted, shown: await presentClient(stores, id) }
      })
      await env.publish({ kind: 'clients-changed', clientId: id })
      await tell(env, before, after)
      const [wasDisabled, isDisabled] = [before.disabled === true, after.disabled === true]
      recordPatch(env, call, 'client', { target: id, patch, wasDisabled, isDisabled })
      return tagged(shown)
    },
  },
  {
    method: 'DELETE',
    path: '/admin/clients/{client}',
    scope: 'Identity/Admin',
    summary: 'Deletes a client; every token it has is cut.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const id = part(call, 'client')
      await change(env, async (stores) => {
        checkMatch(call, await presentClient(stores, id))
        await stores.clients.remove(id)
      })
      await env.publish({ kind: 'clients-changed', clientId: id })
      await takeBack(env).client(id)
      record(env, call, { event: 'client.deleted', target: id, details: { source: 'admin' } })
      return { status: 204 }
    },
  },
  {
    method: 'POST',
    path: '/admin/clients/{client}/secrets',
    scope: 'Identity/Admin',
    summary: 'Gives a client a second secret, so that one can replace the other without a pause.',
    body: {
      type: 'object',
      properties: {
        others_expire_in: {
          type: 'integer',
          minimum: 0,
          description: 'Seconds after which the other secret stops working.',
        },
      },
      additionalProperties: false,
    },
    reply: '{"id", "client_secret"}: the secret is shown this once.',
    status: 201,
    async run(call, env) {
      const id = part(call, 'client')
      const seconds = readSeconds(call.body === undefined ? {} : readObject(call.body))
      const secret = newSecret()
      const secretId = await change(env, (stores) => addSecret(stores, env, id, secret, seconds))
      await env.publish({ kind: 'clients-changed', clientId: id })
      record(env, call, { event: 'client.secret_added', target: id, details: { secret: secretId, source: 'admin' } })
      return { status: 201, body: { id: secretId, client_secret: secret } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/clients/{client}/secrets/{secret}',
    scope: 'Identity/Admin',
    summary: 'Removes a secret at once.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const id = part(call, 'client')
      const secret = part(call, 'secret')
      await change(env, async (stores) => {
        const client = await stores.clients.find(id)
        if (client === undefined) throw notFound('client', id)
        if (!client.secrets.some((candidate) => candidate.id === secret)) throw notFound('secret', secret)
        await stores.clients.removeSecret(id, secret)
      })
      await env.publish({ kind: 'clients-changed', clientId: id })
      record(env, call, { event: 'client.secret_removed', target: id, details: { secret, source: 'admin' } })
      return { status: 204 }
    },
  },
]

/** What the client's tokens are worth from now on. */
async function tell(env: AdminEnv, before: ClientMetadata | undefined, after: ClientMetadata): Promise<void> {
  const [was, is] = [before && toClient(before, []), toClient(after, [])]
  if (is.disabled) {
    if (was?.disabled !== true) await takeBack(env).client(is.id)
  } else if (was?.disabled !== false || was.scopes.symmetricDifference(is.scopes).size > 0)
    await takeBack(env).clientScopes(is.id, is.scopes)
}

/** The rules of registration hold here too; the secret itself is never the administrator's to choose. */
function readMetadata(value: JsonObject): ClientMetadata {
  if ('client_secret' in value) throw badBody([{ path: 'client_secret', text: 'is made here: leave it out' }])
  const stands = value.token_endpoint_auth_method === 'none' ? {} : { client_secret: newId() }
  return clientTarget(readClient({ ...value, ...stands }))
}

async function findMetadata({ clients }: Stores, id: string): Promise<ClientMetadata> {
  const metadata = await clients.metadata(id)
  if (metadata === undefined) throw notFound('client', id)
  return metadata
}

async function presentClient(stores: Stores, id: string): Promise<JsonObject> {
  const metadata = await findMetadata(stores, id)
  const client = await stores.clients.find(id)
  return {
    ...metadata,
    secrets: (client?.secrets ?? []).map(({ id: secret, declared, createdAt, expiresAt }) => ({
      id: secret,
      declared,
      created_at: instant(createdAt),
      expires_at: instant(expiresAt),
    })),
  }
}

async function addSecret(
  stores: Stores,
  { clock }: AdminEnv,
  id: string,
  secret: string,
  seconds: number | undefined,
): Promise<string> {
  const client = await stores.clients.find(id)
  if (client === undefined) throw notFound('client', id)
  if (client.public) throw conflict(`The client ${id} is public: it has no secret`)
  const good = client.secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > clock())
  if (good.length >= MOST_SECRETS)
    throw conflict(`The client ${id} has ${MOST_SECRETS} secrets already: remove one first`)
  const secretId = await stores.clients.addSecret(id, secret)
  if (seconds !== undefined) await stores.clients.expireOtherSecrets(id, secretId, clock() + seconds * 1000)
  return secretId
}

function readSeconds({ others_expire_in: seconds, ...rest }: JsonObject): number | undefined {
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw badBody([{ path: unknown, text: 'unknown member; did you mean others_expire_in?' }])
  if (seconds === undefined) return undefined
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 0 || seconds > 31_536_000)
    throw badBody([{ path: 'others_expire_in', text: 'is a number of seconds, up to a year' }])
  return seconds
}

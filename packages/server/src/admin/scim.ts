/** Administration of SCIM: the clients that may provision users, when they were last seen, and their provisioning tokens. */
import { PROVISIONING_SCOPE } from 'gatehouse-protocol'
import type { Client } from '../store/clients/client-metadata.ts'
import { MOST_TOKENS } from '../store/scim/provisioning-tokens.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, instant, type JsonObject, readObject, refuseUnknown } from './request/body.ts'
import { change, record, requireUpgraded } from './request/change.ts'
import { type AdminEnv, type AdminRoute, conflict, notFound, part } from './route.ts'

const DAY_SECONDS = 86_400
const LONGEST_SECONDS = 2 * 365 * DAY_SECONDS
const DEFAULT_SECONDS = 365 * DAY_SECONDS

export const scimRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/scim',
    scope: 'Identity/Admin',
    summary: 'Lists the clients that are registered for Identity/Provisioning, with their provisioning tokens.',
    reply: '{"items": […], "next": null}',
    async run(_call, { stores }) {
      const clients = (await stores.clients.list()).filter(isScimClient)
      const seen = await stores.scim.tokens.lastSeen()
      const items = await Promise.all(clients.map((client) => present(client, stores, seen)))
      return { body: { items, next: null } }
    },
  },
  {
    method: 'GET',
    path: '/admin/scim/{client}',
    scope: 'Identity/Admin',
    summary: 'Shows a SCIM client with its provisioning tokens, and when it was last seen, to the minute.',
    reply: 'The client: {"client_id", "client_name", "disabled", "last_seen_at", "tokens"}.',
    async run(call, { stores }) {
      const client = await findClient(stores, part(call, 'client'))
      return { body: await present(client, stores, await stores.scim.tokens.lastSeen()) }
    },
  },
  {
    method: 'POST',
    path: '/admin/scim/{client}/tokens',
    scope: 'Identity/Admin',
    summary: 'Issues a provisioning token, which is valid at /scim/v2 only. A client has at most two, for rotation.',
    body: {
      type: 'object',
      properties: {
        expires_in: {
          type: 'integer',
          minimum: 60,
          maximum: LONGEST_SECONDS,
          description: 'Seconds, at most two years. Default: one year.',
        },
      },
      additionalProperties: false,
    },
    reply: '{"id", "token", "expires_at"}. The token is shown only once.',
    status: 201,
    async run(call, env) {
      requireScim(env)
      await requireUpgraded(env)
      const name = part(call, 'client')
      const seconds = readSeconds(call.body === undefined ? {} : readObject(call.body))
      const expiresAt = env.clock() + seconds * 1000
      const { id, token } = await change(env, async (stores) => {
        const client = await findClient(stores, name)
        if ((await stores.scim.tokens.list(client.id)).length >= MOST_TOKENS)
          throw conflict(`The client ${client.id} has ${MOST_TOKENS} provisioning tokens already: revoke one first`)
        return stores.scim.tokens.add(client.id, expiresAt)
      })
      const expires = instant(expiresAt)
      record(env, call, { event: 'client.token_added', target: name, details: { token: id, expires, source: 'admin' } })
      return { status: 201, body: { id, token, expires_at: expires } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/scim/{client}/tokens/{token}',
    scope: 'Identity/Admin',
    summary: 'Revokes a provisioning token; it is invalid at once.',
    async run(call, env) {
      const [client, token] = [part(call, 'client'), part(call, 'token')]
      const isRemoved = await change(env, (stores) => stores.scim.tokens.remove(client, token))
      if (!isRemoved) throw notFound('provisioning token', token)
      record(env, call, { event: 'client.token_removed', target: client, details: { token, source: 'admin' } })
    },
  },
]

function requireScim({ provisioning = false }: AdminEnv): void {
  if (!provisioning) throw conflict('SCIM is off: set scim to true, and restart')
}

function isScimClient({ scopes }: Client): boolean {
  return scopes.has(PROVISIONING_SCOPE)
}

async function findClient({ clients }: Stores, id: string): Promise<Client> {
  const client = await clients.find(id)
  if (client === undefined) throw notFound('client', id)
  if (!isScimClient(client))
    throw conflict(`The client ${id} is not registered for ${PROVISIONING_SCOPE}: add it to its scopes first`)
  return client
}

async function present(
  { id, name, disabled }: Client,
  { scim }: Stores,
  seen: ReadonlyMap<string, number>,
): Promise<JsonObject> {
  const tokens = await scim.tokens.list(id)
  return {
    client_id: id,
    client_name: name,
    disabled,
    last_seen_at: instant(seen.get(id)),
    tokens: tokens.map((token) => ({
      id: token.id,
      created_at: instant(token.createdAt),
      expires_at: instant(token.expiresAt),
      last_used_at: instant(token.usedAt),
    })),
  }
}

function readSeconds(body: JsonObject): number {
  refuseUnknown(body, ['expires_in'])
  const { expires_in: seconds = DEFAULT_SECONDS } = body
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 60 || seconds > LONGEST_SECONDS)
    throw badBody([
      { path: 'expires_in', text: `must be a number of seconds from 60 to ${LONGEST_SECONDS}: two years` },
    ])
  return seconds
}

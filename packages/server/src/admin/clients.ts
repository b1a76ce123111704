/** What the administration of clients has besides their definition: those that are built in, a search, and their secrets. */
import type { ClientItem } from '../resources/client-shape.ts'
import { CLIENTS } from '../resources/clients.ts'
import { BUILT_IN_CLIENT_IDS } from '../store/clients/built-in-clients.ts'
import { clientMatches } from '../store/clients/clients.ts'
import type { DefinitionStore } from '../store/database/definitions.ts'
import { newSecret } from '../store/keys/opaque.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, type JsonObject, readObject } from './request/body.ts'
import { change, record } from './request/change.ts'
import { type Page, readPage } from './request/page.ts'
import type { ResourceSpecials } from './resource-kind.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'

const MOST_SECRETS = 2

export const CLIENT_SPECIALS: ResourceSpecials<ClientItem> = {
  store: withBuiltIn,
  find: (call, env) =>
    call.query.search === undefined ? undefined : searchClients(call, env, call.query.search, readPage(call)),
  guard: async (id, route, env) => (route === 'change' ? refuseFixed(id) : refuseBuiltIn(id, env)),
}

export const clientSecretRoutes: readonly AdminRoute[] = [
  {
    method: 'POST',
    path: '/admin/clients/{client}/secrets',
    scope: 'Identity/Admin',
    summary: 'Adds a second secret to a client, for rotation without downtime.',
    body: {
      type: 'object',
      properties: {
        others_expire_in: {
          type: 'integer',
          minimum: 0,
          description: 'Seconds after which the other secret expires.',
        },
      },
      additionalProperties: false,
    },
    reply: '{"id", "client_secret"}. The secret is shown only once.',
    status: 201,
    async run(call, env) {
      const id = await registered(call, env)
      const seconds = readSeconds(call.body === undefined ? {} : readObject(call.body))
      const secret = newSecret()
      const secretId = await change(env, async (stores, { publish }) => {
        await publish({ kind: 'clients-changed', clientId: id })
        return addSecret(stores, env, id, secret, seconds)
      })
      record(env, call, { event: 'client.secret_added', target: id, details: { secret: secretId, source: 'admin' } })
      return { status: 201, body: { id: secretId, client_secret: secret } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/clients/{client}/secrets/{secret}',
    scope: 'Identity/Admin',
    summary: 'Removes a secret; it is invalid at once.',
    async run(call, env) {
      const id = await registered(call, env)
      const secret = part(call, 'secret')
      await change(env, async (stores, { publish }) => {
        const client = await stores.clients.find(id)
        if (client === undefined) throw notFound('client', id)
        if (!client.secrets.some((candidate) => candidate.id === secret)) throw notFound('secret', secret)
        await stores.clients.removeSecret(id, secret)
        await publish({ kind: 'clients-changed', clientId: id })
      })
      record(env, call, { event: 'client.secret_removed', target: id, details: { secret, source: 'admin' } })
    },
  },
]

function refuseFixed(id: string): void {
  if (BUILT_IN_CLIENT_IDS.has(id)) throw conflict(`The client ${id} is built in and cannot be changed`)
}

async function refuseBuiltIn(id: string, env: AdminEnv): Promise<void> {
  await requireRegistered(id, env)
  if (env.builtInClients.has(id))
    throw conflict(
      `Without this registration the built-in client ${id} would be back, with all its scopes. Disable it instead; to delete it, first set cli_client to false`,
    )
}

/** A change of a built-in client registers it, with this change. */
async function requireRegistered(id: string, { stores, builtInClients }: AdminEnv): Promise<void> {
  refuseFixed(id)
  if (builtInClients.has(id) && (await stores.clients.metadata(id)) === undefined)
    throw conflict(
      `The client ${id} is built in and not registered. Disable it, or change it, which registers it; or set cli_client to false`,
    )
}

/** The id of a client that is stored, unless there is none. */
async function registered(call: AdminCall, env: AdminEnv): Promise<string> {
  const id = part(call, 'client')
  await requireRegistered(id, env)
  return id
}

/** A registration takes the place of a built-in client, unless that is fixed. */
function withBuiltIn(
  { builtInClients }: Pick<AdminEnv, 'builtInClients'>,
  stores: Stores,
): DefinitionStore<ClientItem> {
  const stored = CLIENTS.store(stores)
  const find = async (id: string): Promise<ClientItem | undefined> => {
    const own = builtInClients.get(id)
    const found = own !== undefined && BUILT_IN_CLIENT_IDS.has(id) ? undefined : await stored.find(id)
    return found ?? (own && { ...own, isBuiltIn: true, secrets: [] })
  }
  return {
    ...stored,
    find,
    async list({ after = '', limit = 0 } = {}) {
      const ids = await stores.clients.listIds({ after, limit })
      const last = ids.length === limit ? ids.at(-1) : undefined
      const own = [...builtInClients.keys()].filter((id) => id > after && (last === undefined || id < last))
      const page = [...new Set([...ids, ...own])].sort((a, b) => (a < b ? -1 : 1)).slice(0, limit)
      return (await Promise.all(page.map(find))).filter((client) => client !== undefined)
    },
  }
}

async function searchClients(call: AdminCall, env: AdminEnv, text: string, page: Page): Promise<AdminReply> {
  const { ids, next } = await env.stores.clients.search(text, page)
  const isOn = (id: string) => id > page.after && (next === undefined || id < next)
  const own = [...env.builtInClients.values()].filter((client) => isOn(client.client_id) && clientMatches(client, text))
  const all = [...new Set([...ids, ...own.map(({ client_id }) => client_id)])].sort((a, b) => (a < b ? -1 : 1))
  const items = await Promise.all(all.map((id) => withBuiltIn(env, env.stores).find(id)))
  const query = next && new URLSearchParams({ ...call.query, after: next, limit: String(page.limit) })
  return {
    body: {
      items: items.flatMap((client) => (client === undefined ? [] : CLIENTS.present(client))),
      next: query === undefined ? null : `/admin/clients?${query}`,
    },
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
  if (client.public) throw conflict(`The client ${id} is public and has no secret`)
  if (client.authMethods.has('private_key_jwt')) throw conflict(`The client ${id} authenticates with assertions`)
  const valid = client.secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > clock())
  if (valid.length >= MOST_SECRETS)
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
    throw badBody([{ path: 'others_expire_in', text: 'must be a number of seconds, up to a year' }])
  return seconds
}

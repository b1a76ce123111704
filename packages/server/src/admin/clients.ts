/** Administration of clients and their secrets. */
import type { KnownApis } from '../declarative/check-meaning.ts'
import { algFaults } from '../declarative/client-algs.ts'
import { clientTarget } from '../declarative/targets.ts'
import { mergePatch } from '../lib/merge-patch.ts'
import { changedAttributes } from '../store/attributes/attribute-values.ts'
import type { AttributeDefinition } from '../store/attributes/attributes.ts'
import type { RevocationsInside } from '../store/authorizations/revocations.ts'
import { BUILT_IN_CLIENT_IDS } from '../store/clients/built-in-clients.ts'
import { type ClientMetadata, hasSecret, toClient } from '../store/clients/client-metadata.ts'
import { clientMatches } from '../store/clients/clients.ts'
import { tokenScopes } from '../store/clients/token-scopes.ts'
import { newId, newSecret } from '../store/keys/opaque.ts'
import type { StoredKey } from '../store/keys/signing-keys.ts'
import { removeScimClient } from '../store/scim/provisioned-roles.ts'
import type { Stores } from '../store/stores.ts'
import { badBody, CLIENT_SCHEMA, instant, type JsonObject, readClient, readObject } from './request/body.ts'
import { change, record, recordPatch, requireUpgraded } from './request/change.ts'
import { checkMatch, created, requireMatch, tagged } from './request/etag.ts'
import { PAGE_REPLY, type Page, pageQuery, pageReply, readPage } from './request/page.ts'
import {
  type AdminCall,
  type AdminEnv,
  type AdminReply,
  type AdminRoute,
  conflict,
  knownApis,
  notFound,
  part,
} from './route.ts'

const MOST_SECRETS = 2

export const clientRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/clients',
    scope: 'Identity/Admin',
    summary:
      'Lists clients page by page, ordered by id. Built-in clients have `built_in`. A change of `gatehouse-cli` registers it; `gatehouse-console` and `gatehouse-tools` cannot be changed.',
    query: {
      ...pageQuery('Clients', 'client_id'),
      search:
        'Only clients whose id or name contains this; case is ignored. A page can be short or empty even if there is a `next`.',
    },
    reply: PAGE_REPLY,
    async run(call, env) {
      const page = readPage(call)
      const { search } = call.query
      if (search !== undefined) return searchClients(call, env, search, page)
      const ids = withBuiltIn(await env.stores.clients.listIds(page), page, env)
      const items = await Promise.all(ids.map(async (id) => ({ id, shown: await showClient(env, id) })))
      return pageReply('/admin/clients', call, page, items, { keyOf: ({ id }) => id, present: ({ shown }) => shown })
    },
  },
  {
    method: 'POST',
    path: '/admin/clients',
    scope: 'Identity/Admin',
    summary: 'Registers a client. A confidential client gets a secret, which is shown only once.',
    body: CLIENT_SCHEMA,
    reply: 'The client, with client_secret if it has one.',
    status: 201,
    async run(call, env) {
      await requireKnown(env, readObject(call.body))
      const body = { client_id: newId(9), ...readObject(call.body) }
      const { stores: read } = env
      const metadata = readMetadata(body, await read.attributes.list(), await knownApis(env, read))
      refuseAlgs(metadata, await read.signingKeys.list())
      const secret = hasSecret(metadata) ? newSecret() : undefined
      const client = await change(env, async (stores, { publish, revocations }) => {
        if ((await stores.clients.metadata(metadata.client_id)) !== undefined)
          throw conflict(`The client ${metadata.client_id} exists already`)
        await stores.clients.put(metadata)
        if (secret !== undefined) await stores.clients.addSecret(metadata.client_id, secret)
        await publish({ kind: 'clients-changed', clientId: metadata.client_id })
        await limitTokens(undefined, metadata, stores, revocations)
        return await presentClient(stores, metadata.client_id)
      })
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
    async run(call, env) {
      return tagged(await showClient(env, part(call, 'client')))
    },
  },
  {
    method: 'PATCH',
    path: '/admin/clients/{client}',
    scope: 'Identity/Admin',
    summary:
      'Changes a client (JSON merge patch). Disabling it revokes all its tokens; a removed scope is removed from its tokens too.',
    body: CLIENT_SCHEMA,
    reply: 'The changed client.',
    async run(call, env) {
      const id = changeable(call)
      const patch = readObject(call.body)
      await requireKnown(env, patch)
      if (patch.client_id !== undefined && patch.client_id !== id)
        throw badBody([{ path: 'client_id', text: 'cannot be changed: register another client' }])
      const { before, after, shown } = await change(env, async (stores, { publish, revocations }) => {
        const found = (await stores.clients.metadata(id)) ?? env.builtInClients.get(id)
        if (found === undefined) throw notFound('client', id)
        requireMatch(call, await showClient({ ...env, stores }, id))
        const wanted = readMetadata(
          mergePatch({ ...found }, patch),
          await stores.attributes.list(),
          await knownApis(env, stores),
        )
        refuseAlgs(wanted, await stores.signingKeys.list())
        await stores.clients.put(wanted)
        const attributes = changedAttributes(found.attributes ?? {}, wanted.attributes ?? {})
        await publish({ kind: 'clients-changed', clientId: id, ...(attributes.length > 0 && { attributes }) })
        await limitTokens(found, wanted, stores, revocations)
        return { before: found, after: wanted, shown: await presentClient(stores, id) }
      })
      const [wasDisabled, isDisabled] = [before.disabled === true, after.disabled === true]
      recordPatch(env, call, 'client', { target: id, patch, wasDisabled, isDisabled })
      return tagged(shown)
    },
  },
  {
    method: 'DELETE',
    path: '/admin/clients/{client}',
    scope: 'Identity/Admin',
    summary:
      'Deletes a client and revokes all its tokens. One that replaces a built-in client is not deleted, because that one would be back: disable it.',
    async run(call, env) {
      const id = await registered(call, env)
      if (env.builtInClients.has(id))
        throw conflict(
          `Without this registration the built-in client ${id} would be back, with all its scopes. Disable it instead; to delete it, first set cli_client to false`,
        )
      await change(env, async (stores, { publish, revocations }) => {
        checkMatch(call, await presentClient(stores, id))
        await removeScimClient(id, stores, revocations)
        await stores.clients.remove(id)
        await publish({ kind: 'clients-changed', clientId: id })
        await revocations.revokeClient(id)
      })
      record(env, call, { event: 'client.deleted', target: id, details: { source: 'admin' } })
    },
  },
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

/** The id of a client that can be changed: a change of a built-in one registers it, with this change. */
function changeable(call: AdminCall): string {
  const id = part(call, 'client')
  if (BUILT_IN_CLIENT_IDS.has(id)) throw conflict(`The client ${id} is built in and cannot be changed`)
  return id
}

/** The id of a client that is stored, unless there is none. */
async function registered(call: AdminCall, { stores, builtInClients }: AdminEnv): Promise<string> {
  const id = changeable(call)
  if (builtInClients.has(id) && (await stores.clients.metadata(id)) === undefined)
    throw conflict(
      `The client ${id} is built in and not registered. Disable it, or change it, which registers it; or set cli_client to false`,
    )
  return id
}

async function searchClients(call: AdminCall, env: AdminEnv, text: string, page: Page): Promise<AdminReply> {
  const { ids, next } = await env.stores.clients.search(text, page)
  const isOn = (id: string) => id > page.after && (next === undefined || id < next)
  const own = [...env.builtInClients.values()].filter((client) => isOn(client.client_id) && clientMatches(client, text))
  const all = [...new Set([...ids, ...own.map(({ client_id }) => client_id)])].sort((a, b) => (a < b ? -1 : 1))
  const items = await Promise.all(all.map((id) => showClient(env, id)))
  const query = next && new URLSearchParams({ ...call.query, after: next, limit: String(page.limit) })
  return { body: { items, next: query === undefined ? null : `/admin/clients?${query}` } }
}

/** The ids of a page together with the built-in ones that belong on it. */
function withBuiltIn(ids: readonly string[], { after, limit }: Page, { builtInClients }: AdminEnv): string[] {
  const last = ids.length === limit ? ids.at(-1) : undefined
  const own = [...builtInClients.keys()].filter((id) => id > after && (last === undefined || id < last))
  return [...new Set([...ids, ...own])].sort((a, b) => (a < b ? -1 : 1)).slice(0, limit)
}

async function showClient({ stores, builtInClients }: AdminEnv, id: string): Promise<JsonObject> {
  const own = builtInClients.get(id)
  const isReplaced =
    own === undefined || (!BUILT_IN_CLIENT_IDS.has(id) && (await stores.clients.metadata(id)) !== undefined)
  return isReplaced ? await presentClient(stores, id) : { ...own, built_in: true, secrets: [] }
}

/** Revokes or limits the tokens of a client according to the change. */
async function limitTokens(
  before: ClientMetadata | undefined,
  after: ClientMetadata,
  { apis }: Pick<Stores, 'apis'>,
  revocations: RevocationsInside,
): Promise<void> {
  const [was, is] = [before && toClient(before, []), toClient(after, [])]
  if (is.disabled) {
    if (was?.disabled !== true) await revocations.revokeClient(is.id)
    return
  }
  const scopes = await tokenScopes(is, apis)
  const isSame = was?.disabled === false && (await tokenScopes(was, apis)).symmetricDifference(scopes).size === 0
  if (!isSame) await revocations.limitClientScopes(is.id, scopes)
}

/** Applies the rules of registration. The server generates the secret, never the administrator. */
function readMetadata(value: JsonObject, attributes: readonly AttributeDefinition[], known: KnownApis): ClientMetadata {
  if ('client_secret' in value)
    throw badBody([{ path: 'client_secret', text: 'is generated by the server: leave it out' }])
  // The rules require a secret; the real one is added separately.
  const placeholder = isWithoutSecret(value.token_endpoint_auth_method) ? {} : { client_secret: newId() }
  return clientTarget(readClient({ ...value, ...placeholder }, attributes, known))
}

/** Members that nodes of earlier versions do not respect. */
const NEW_MEMBERS = [
  'jwks_uri',
  'token_endpoint_auth_signing_alg',
  'federated',
  'api',
  'exchange_scope',
  'access_token_alg',
  'id_token_signed_response_alg',
  'request_object_signing_alg',
  'require_signed_request_object',
  'authorization_signed_response_alg',
  'introspection_signed_response_alg',
  'dpop_bound_access_tokens',
  'require_pushed_authorization_requests',
  'profile',
] as const

async function requireKnown(env: AdminEnv, patch: JsonObject): Promise<void> {
  const isNew = NEW_MEMBERS.some((name) => (patch[name] ?? null) !== null)
  if (isNew || patch.token_endpoint_auth_method === 'private_key_jwt') await requireUpgraded(env)
}

function refuseAlgs(metadata: ClientMetadata, keys: readonly StoredKey[]): void {
  const faults = algFaults(metadata, keys)
  if (faults.length > 0) throw badBody(faults)
}

function isWithoutSecret(method: unknown): boolean {
  return method === 'none' || method === 'private_key_jwt'
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

/** Administration of signing keys, streaming connections, running queries and settings. */
import { Refusal } from '../protocol/refusal.ts'
import { isWithdrawn, signingKeyOf } from '../store/key-rotation.ts'
import type { StoredKey } from '../store/signing-keys.ts'
import { badBody, instant, type JsonObject, readObject } from './body.ts'
import { record } from './change.ts'
import { keyOfItem } from './live.ts'
import { cursorQuery, pageReply, readPage, readTimeCursor, writeTimeCursor } from './page.ts'
import { readFlag } from './parameters.ts'
import { type AdminCall, type AdminEnv, type AdminReply, type AdminRoute, conflict, notFound, part } from './route.ts'
import { requireSubject } from './subjects.ts'

const DAY = 86_400
const KICK_REPLY = '{"closed": connections, "silent": [nodes that did not reply, which close theirs too]}'

export const platformRoutes: readonly AdminRoute[] = [
  {
    method: 'GET',
    path: '/admin/keys',
    scope: 'Identity/Admin',
    summary: 'Lists the signing keys, without their private keys.',
    reply: '{"items": […]}',
    async run(_call, { keyring, clock }) {
      return { body: { items: presentKeys(await keyring.list(), clock()) } }
    },
  },
  {
    method: 'POST',
    path: '/admin/keys',
    scope: 'Identity/Admin',
    summary: 'Rotates the signing key: creates a key that is published now and signs later.',
    body: {
      type: 'object',
      properties: {
        active_in: {
          type: 'integer',
          minimum: 0,
          description: 'Seconds until it signs. Default: a day, so that validators can fetch it first.',
        },
      },
      additionalProperties: false,
    },
    reply: 'The key.',
    status: 201,
    async run(call, env) {
      const { keyring, clock } = env
      const seconds = readActiveIn(call.body === undefined ? {} : readObject(call.body))
      const key = await keyring.rotate(clock() + seconds * 1000)
      const details = { kid: key.kid, active_from: key.activeFrom, reason: 'operator' }
      record(env, call, { event: 'key.created', target: key.kid, details })
      return { status: 201, body: presentKeys([key], clock())[0] }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/keys/{kid}',
    scope: 'Identity/Admin',
    summary:
      'Retires a key: it stops signing and stays published until its last token has expired. A compromised key is withdrawn at once, and every token that it signed is rejected.',
    query: {
      compromised: 'true withdraws the key: it is no longer published, and the tokens that it signed are rejected.',
    },
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const { keyring, clock } = env
      const kid = part(call, 'kid')
      const isCompromised = readFlag(call.query.compromised, 'compromised')
      const keys = await keyring.list()
      const key = keys.find((candidate) => candidate.kid === kid)
      if (key === undefined) throw notFound('signing key', kid)
      if (isCompromised) return withdraw(kid, call, env)
      const others = keys.filter(
        (other) => other.kid !== kid && other.retiredAt === undefined && other.activeFrom <= clock(),
      )
      if (others.length === 0) throw conflict('This is the only active key: rotate first, with active_in 0')
      await keyring.retire(kid)
      record(env, call, { event: 'key.retired', target: kid, details: { kid, reason: 'operator' } })
      return { status: 204 }
    },
  },
  {
    method: 'GET',
    path: '/admin/streams',
    scope: 'Platform/Admin',
    summary: 'Lists the streaming connections of all nodes page by page, newest first.',
    query: { user: 'Only connections of this user or client, by name or id.', ...cursorQuery('Connections') },
    reply: '{"items": […], "next": "the path of the next page or null", "silent": [nodes that did not reply]}',
    async run(call, { live, stores }) {
      const { user } = call.query
      const page = readPage(call)
      const { items, silent } = await live.streams({
        user: user === undefined ? undefined : await requireSubject(stores, user),
        page: { limit: page.limit, after: readTimeCursor(page.after) },
      })
      const keyOf = (item: JsonObject) => writeTimeCursor(keyOfItem(item))
      const { body } = pageReply('/admin/streams', call, page, items, { keyOf, present: (item) => item })
      return { body: { ...body, silent } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/streams/{connection}',
    scope: 'Platform/Admin',
    summary: 'Closes a streaming connection, on whichever node it is.',
    reply: KICK_REPLY,
    async run(call, env) {
      const connectionId = part(call, 'connection')
      const { items, silent } = await env.live.streams({ connection: connectionId })
      const closed = items.filter(({ id }) => id === connectionId).length
      // It may be on a node that did not reply.
      if (closed === 0 && silent.length === 0) throw notFound('streaming connection', connectionId)
      await env.publish({ kind: 'stream-kick', connectionId })
      record(env, call, { event: 'stream.kicked', target: connectionId, details: { connection: connectionId } })
      return { body: { closed, silent } }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/streams',
    scope: 'Platform/Admin',
    summary: 'Closes all streaming connections of a user or client, on all nodes.',
    query: { user: 'The user or client, by name or id. Required.' },
    reply: KICK_REPLY,
    async run(call, env) {
      const { user } = call.query
      if (user === undefined)
        throw new Refusal('admin.bad_parameter', 400, 'The parameter user is required: ?user=alice')
      const subject = await requireSubject(env.stores, user)
      const { items, silent } = await env.live.streams({ user: subject })
      await env.publish({ kind: 'stream-kick', subject })
      record(env, call, { event: 'stream.kicked', target: subject, details: { count: items.length } })
      return { body: { closed: items.length, silent } }
    },
  },
  {
    method: 'GET',
    path: '/admin/queries',
    scope: 'Platform/Admin',
    summary: 'Lists the running queries and live statements of all nodes.',
    reply: '{"items": […], "silent": [nodes that did not reply]}',
    async run(_call, { live }) {
      return { body: await live.queries() }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/queries/{query}',
    scope: 'Platform/Admin',
    summary: 'Cancels a running query, or ends a live statement, on whichever node it is.',
    reply: 'Nothing.',
    status: 204,
    async run(call, env) {
      const query = part(call, 'query')
      if (!(await env.live.cancel(query))) throw notFound('running query', query)
      record(env, call, { event: 'query.cancelled', target: query, details: { query } })
      return { status: 204 }
    },
  },
  {
    method: 'GET',
    path: '/admin/settings',
    scope: 'Platform/Admin',
    summary: 'Shows the effective settings of the node that answers; secrets are masked.',
    reply: '{"items": […]}',
    async run(_call, { settings }) {
      return { body: { items: settings() } }
    },
  },
]

async function withdraw(kid: string, call: AdminCall, env: AdminEnv): Promise<AdminReply> {
  const successor = await env.keyring.withdraw(kid)
  const reason = 'compromised'
  record(env, call, { event: 'key.retired', target: kid, details: { kid, reason } })
  if (successor !== undefined) {
    const details = { kid: successor.kid, active_from: successor.activeFrom, reason }
    record(env, call, { event: 'key.created', target: successor.kid, details })
  }
  return { status: 204 }
}

function presentKeys(keys: readonly StoredKey[], now: number): JsonObject[] {
  const signing = signingKeyOf(keys, now)
  return keys.map((key) => ({
    kid: key.kid,
    state: stateOf(key, signing, now),
    created_at: instant(key.createdAt),
    active_from: instant(key.activeFrom),
    retired_at: instant(key.retiredAt),
    removed_after: instant(key.removedAfter),
  }))
}

function stateOf(key: StoredKey, signing: StoredKey | undefined, now: number): string {
  if (isWithdrawn(key)) return 'compromised'
  if (key.removedAfter !== undefined && key.removedAfter <= now) return 'removed'
  if (key.retiredAt !== undefined) return 'retired'
  if (key.activeFrom > now) return 'waiting'
  return key.kid === signing?.kid ? 'signing' : 'outlived'
}

function readActiveIn({ active_in: seconds = DAY, ...rest }: JsonObject): number {
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw badBody([{ path: unknown, text: 'unknown member; did you mean active_in?' }])
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 0 || seconds > 90 * DAY)
    throw badBody([{ path: 'active_in', text: 'must be a number of seconds, up to 90 days' }])
  return seconds
}

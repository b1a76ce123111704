/** Administration of signing keys and settings. */
import { isSignatureAlg, type SignatureAlg } from '../lib/signature-algs.ts'
import { chooseSigningKeys, isWithdrawn } from '../store/keys/key-rotation.ts'
import type { StoredKey } from '../store/keys/signing-keys.ts'
import { badBody, instant, type JsonObject, readObject } from './request/body.ts'
import { record } from './request/change.ts'
import { readFlag } from './request/parameters.ts'
import { type AdminCall, type AdminEnv, type AdminRoute, conflict, notFound, part } from './route.ts'

const DAY = 86_400

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
    summary: 'Rotates the signing key of an algorithm: creates a key that is published now and signs later.',
    body: {
      type: 'object',
      properties: {
        alg: {
          type: 'string',
          description: 'The algorithm: RS256, which is the default, or another that has keys (setting signing_algs).',
        },
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
      const { alg = 'RS256', ...rest } = call.body === undefined ? {} : readObject(call.body)
      const seconds = readActiveIn(rest)
      const key = await keyring.rotate(readAlg(alg, await keyring.list()), clock() + seconds * 1000)
      const details = { kid: key.kid, alg: key.alg, active_from: key.activeFrom, reason: 'operator' }
      record(env, call, { event: 'key.created', target: key.kid, details })
      return { status: 201, body: presentKeys([key], clock())[0] }
    },
  },
  {
    method: 'DELETE',
    path: '/admin/keys/{kid}',
    scope: 'Identity/Admin',
    summary:
      'Retires a key: it stops signing and stays published until its last token has expired. A compromised key is removed at once, and every token that it signed is rejected.',
    query: {
      compromised:
        'true retires the key as compromised: it is no longer published, and the tokens that it signed are rejected.',
    },
    async run(call, env) {
      const { keyring, clock } = env
      const kid = part(call, 'kid')
      const isCompromised = readFlag(call.query.compromised, 'compromised')
      const keys = await keyring.list()
      const key = keys.find((candidate) => candidate.kid === kid)
      if (key === undefined) throw notFound('signing key', kid)
      if (isCompromised) return withdraw(kid, call, env)
      const others = keys.filter(
        (other) =>
          other.kid !== kid && other.alg === key.alg && other.retiredAt === undefined && other.activeFrom <= clock(),
      )
      if (others.length === 0)
        throw conflict(`This is the only active key for ${key.alg}: rotate first, with active_in 0`)
      await keyring.retire(kid)
      record(env, call, { event: 'key.retired', target: kid, details: { kid, reason: 'operator' } })
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

async function withdraw(kid: string, call: AdminCall, env: AdminEnv): Promise<undefined> {
  const successor = await env.keyring.withdraw(kid)
  const reason = 'compromised'
  record(env, call, { event: 'key.retired', target: kid, details: { kid, reason } })
  if (successor !== undefined) {
    const details = { kid: successor.kid, alg: successor.alg, active_from: successor.activeFrom, reason }
    record(env, call, { event: 'key.created', target: successor.kid, details })
  }
}

function presentKeys(keys: readonly StoredKey[], now: number): JsonObject[] {
  const signing = chooseSigningKeys(keys, now)
  return keys.map((key) => ({
    kid: key.kid,
    alg: key.alg,
    state: keyState(key, signing.get(key.alg), now),
    created_at: instant(key.createdAt),
    active_from: instant(key.activeFrom),
    retired_at: instant(key.retiredAt),
    removed_after: instant(key.removedAfter),
  }))
}

function keyState(key: StoredKey, signing: StoredKey | undefined, now: number): string {
  if (isWithdrawn(key)) return 'compromised'
  if (key.removedAfter !== undefined && key.removedAfter <= now) return 'removed'
  if (key.retiredAt !== undefined) return 'retired'
  if (key.activeFrom > now) return 'waiting'
  return key.kid === signing?.kid ? 'signing' : 'outlived'
}

/** Only of an existing ring: the setting adds rings. */
function readAlg(alg: unknown, keys: readonly StoredKey[]): SignatureAlg {
  const inUse = keys.filter(({ retiredAt }) => retiredAt === undefined)
  const known = [...new Set<SignatureAlg>(['RS256', ...inUse.map((key) => key.alg)])]
  if (isSignatureAlg(alg) && known.includes(alg)) return alg
  throw badBody([{ path: 'alg', text: `must be one of ${known.join(', ')}; the setting signing_algs adds others` }])
}

function readActiveIn({ active_in: seconds = DAY, ...rest }: JsonObject): number {
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw badBody([{ path: unknown, text: 'unknown member; did you mean active_in?' }])
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 0 || seconds > 90 * DAY)
    throw badBody([{ path: 'active_in', text: 'must be a number of seconds, up to 90 days' }])
  return seconds
}

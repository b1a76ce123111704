/**
 * Multi round-trip requests: a request that needs an answer of the client ends with what to ask, and comes again with the answers. What is
 * kept between the rounds is sealed, for this caller and this request, so that any node takes the next round.
 */
import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import type { Clock, Principal } from 'gatehouse-protocol'
import { LruMap } from '../../lib/lru-map.ts'
import { seal, unseal } from '../../store/keys/opaque.ts'
import { ProtocolError } from './errors.ts'
import type { InputRequests } from './features.ts'
import { isObject, type JsonObject } from './json.ts'
import { META, type Message } from './message.ts'

/** Ends a round: no fault, but a reply of its own. */
export class InputRequired extends Error {
  readonly requests: InputRequests
  readonly state: unknown

  constructor(requests: InputRequests, state: unknown) {
    super('The client is asked')
    this.requests = requests
    this.state = state
  }
}

/** What the client can be asked, and the capability with which it says so. */
const CAPABILITIES: ReadonlyMap<string, 'elicitation' | 'sampling' | 'roots'> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
])

/** Of this very request: what a client could in another one says nothing. */
export function canAsk({ era, meta }: Message, method: string): boolean {
  const name = CAPABILITIES.get(method)
  const declared = meta[META.capabilities]
  if (era === 'legacy' || name === undefined || !isObject(declared) || !isObject(declared[name])) return false
  // A client without forms opens addresses only.
  return name !== 'elicitation' || declared[name].url === undefined || declared[name].form !== undefined
}

/** The result that asks, with the requests that the client can answer. */
export function askingResult({ requests }: InputRequired, message: Message, sealState: () => string): JsonObject {
  const possible = Object.entries(requests).filter(([, { method }]) => canAsk(message, method))
  if (possible.length === 0) {
    const needed = Object.values(requests).map(({ method }) => [CAPABILITIES.get(method) ?? method, {}] as const)
    throw new ProtocolError('missingCapability', 'The client cannot answer what this request needs', {
      requiredCapabilities: Object.fromEntries(needed),
    })
  }
  return { resultType: 'input_required', inputRequests: Object.fromEntries(possible), requestState: sealState() }
}

const LIFETIME_MS = 600_000
const DAY_MS = 86_400_000
const KEPT_DAYS = 4
const MAX_LENGTH = 16 * 1024

/** Seals what is kept between rounds. */
export class StateSeal {
  readonly #derive: (purpose: string) => Buffer
  readonly #clock: Clock
  /** A key for each day: random nonces repeat when one key seals too much (NIST SP 800-38D §8.3). */
  readonly #keys = new LruMap<KeyObject>(KEPT_DAYS)

  constructor(derive: (purpose: string) => Buffer, clock: Clock) {
    this.#derive = derive
    this.#clock = clock
  }

  write(state: unknown, purpose: string): string {
    const day = String(Math.floor(this.#clock() / DAY_MS))
    const plain = Buffer.from(JSON.stringify({ until: this.#clock() + LIFETIME_MS, state }))
    return `${day}.${seal(plain, this.#key(day), purpose)}`
  }

  /** Throws if it was altered, is too old, or belongs to another caller or request. */
  read(text: unknown, purpose: string): unknown {
    const [, day, sealed] =
      typeof text === 'string' && text.length <= MAX_LENGTH ? (/^(\d{1,6})\.([\w-]+)$/.exec(text) ?? []) : []
    if (day === undefined || sealed === undefined) throw badState()
    let content: { readonly until: number; readonly state: unknown }
    try {
      content = JSON.parse(unseal(sealed, this.#key(day), purpose).toString())
    } catch {
      throw badState()
    }
    if (content.until < this.#clock()) throw badState()
    return content.state
  }

  #key(day: string): KeyObject {
    const known = this.#keys.get(day)
    if (known !== undefined) return known
    const key = createSecretKey(this.#derive(`mcp request state ${day}`))
    this.#keys.set(day, key)
    return key
  }
}

function badState(): ProtocolError {
  return new ProtocolError(
    'badParams',
    'requestState belongs to another request, was altered, or is older than ten minutes',
  )
}

/** What a state is bound to: who calls, with which grant, and what is asked for. */
export function statePurpose(
  { method, params }: Message,
  { kind, subject, clientId, grantId = '' }: Principal,
): string {
  const { name, uri, arguments: args } = params
  const digest = hash('sha256', JSON.stringify([name, uri, args]), 'base64url')
  return JSON.stringify([kind, subject, clientId, grantId, method, digest])
}

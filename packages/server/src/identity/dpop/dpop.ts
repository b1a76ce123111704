/** DPoP (RFC 9449): checks proofs of possession at the token endpoint, at resources and on streams. Loaded by the first proof. */
import { availableParallelism } from 'node:os'
import { type Audit, type Clock, Refusal } from 'gatehouse-protocol'
import { type CheckProof, proofChallenge } from '../../http/request/proof.ts'
import { type Remembered, ReplayMemories, type UsedOnce } from '../../lib/replay-memory.ts'
import type { SpentJwts } from '../../store/authorizations/spent-jwts.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { refuse } from '../oauth-error.ts'
import { createBatchVerifier, type Verification } from '../tokens/verifier.ts'
import { createAddresses } from './addresses.ts'
import { createNonces } from './nonces.ts'
import { type Proof, type ProvenRequest, readProof } from './proof.ts'
import { ProofFault } from './proof-fault.ts'
import { isSignedBy, type ProofKey, ProofKeys } from './proof-keys.ts'

export interface DpopOptions {
  readonly issuer: string
  readonly publicOrigins: readonly string[]
  /** Of whom a nonce is demanded. */
  readonly nonce: 'public' | 'all' | 'off'
  /** Where proofs of queries, feeds and userinfo are remembered. */
  readonly replay: 'local' | 'shared'
  readonly nonceKey: Buffer
  /** Of all workers; where absent, of this process, since `startedAt`. */
  readonly usedProofs?: UsedProofs | undefined
  readonly startedAt: number
  readonly clock: Clock
  readonly spentJwts: SpentJwts
  readonly clients: { find(clientId: string): Promise<{ readonly public: boolean } | undefined> }
  readonly audit: Audit
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
}

/** Remembers used proofs that are not in the database. */
export interface UsedProofs {
  /** It knows every proof that was used from then on. */
  readonly since: number
  readonly size: number
  add(proof: UsedOnce): Remembered | Promise<Remembered>
}

/** A request to an OAuth endpoint. */
export interface EndpointRequest {
  readonly proof: string | undefined
  readonly method: string
  readonly path: string
  /** The client that the request names, if any. */
  readonly clientId: string | undefined
  /** The client does not authenticate. */
  readonly isPublic: boolean
  readonly address: string
  readonly requestId: string
}

/** A proof that is good, and not used up yet. */
export interface GoodProof {
  readonly thumbprint: string
  /** A new nonce for the client, if it should use one from now on. */
  readonly nonce: string | undefined
  /** Throws if the proof was used before. Until then, a request that is refused can be repeated with it. */
  spend(): Promise<void>
}

export type Dpop = ReturnType<typeof createDpop>

/** Of `spent_jwts`. */
const USE = 'dpop proof'
const BACK_MS = 60_000
const AHEAD_MS = 15_000
/** How long the proof of a connection is remembered: its nonce is random, and accepted once. */
const CONNECTION_MS = 10 * 60_000
const PROOFS: Verification<ProofKey> = {
  program: new URL('./proof-thread.ts', import.meta.url),
  isSigned: isSignedBy,
  sentKey: () => undefined,
}
/**
 * The worker is sent several at once, so that they share the cost of a message. Past the most that it has to do, this thread takes its
 * part. Neither number is tuned yet: bench `query-key-dpop` misses its target. On one processor the worker would only add messages.
 */
const WORKER = { workerThreshold: availableParallelism() > 1 ? 10 : Number.POSITIVE_INFINITY, maxPending: 48 }

/** By when the proof is no longer accepted, and whether it has a nonce that says so. */
interface Expiry {
  readonly at: number
  readonly hasNonce: boolean
  /** It cannot have been made before. */
  readonly madeAt: number
  readonly newNonce?: string | undefined
}

interface Sender {
  readonly clientId: string | undefined
  readonly actor?: string | undefined
  readonly path: string
  readonly address: string
  readonly requestId: string
}

export function createDpop(options: DpopOptions) {
  const { clock, metrics, audit } = options
  const keys = new ProofKeys()
  const matchesAddress = createAddresses(options.issuer, options.publicOrigins)
  const usedProofs = options.usedProofs ?? rememberHere(clock, options.startedAt)
  let began = usedProofs.since
  /** Once the clock is seen before it, the memory begins there: otherwise every proof would be too old until the clock catches up. */
  const since = (): number => {
    began = Math.min(began, clock())
    return began
  }
  const nonces = createNonces(options.nonceKey, clock, since)
  const verifier = createBatchVerifier(PROOFS, { onError: options.onError, ...WORKER })
  const observe = metrics.histogram('gatehouse_dpop_verify_seconds', {})
  const countAccepted = metrics.counter('gatehouse_dpop_proofs_total', { outcome: 'accepted' })
  metrics.watch('gatehouse_dpop_replay_entries', () => [[{}, usedProofs.size]])

  /** The use of a token that is bound to a key, over HTTP or on a stream. */
  const checkProof: CheckProof = async (use) => {
    const { principal, path, address, requestId } = use
    const { clientId, boundKey } = principal
    const sender = { clientId, actor: principal.subject, path, address, requestId }
    const isNonceNeeded = use.nonce === undefined && (await isDemanded(clientId))
    return judge(sender, refuseAccess, async () => {
      const request = { ...use, boundKey, isAddress: (named: string) => matchesAddress(named, path) }
      const proof = readProof(use.proof, request, keys)
      const expiry = use.nonce === undefined ? findExpiry(proof, isNonceNeeded) : expiryOnConnection(proof, use.nonce)
      await verifySignature(proof)
      await spend(proof, expiry, use.isShared || options.replay === 'shared')
      return expiry.newNonce
    })
  }

  return {
    checkProof,

    /** RFC 9449 §5. Spends nothing: the client is not authenticated yet. */
    checkAtEndpoint({ isPublic, ...sender }: EndpointRequest): Promise<GoodProof> {
      return judge(
        sender,
        refuseAtEndpoint,
        async () => {
          const request: ProvenRequest = {
            method: sender.method,
            isAddress: (named) => matchesAddress(named, sender.path),
          }
          const proof = readProof(sender.proof, request, keys)
          const expiry = findExpiry(proof, options.nonce === 'all' || (options.nonce === 'public' && isPublic))
          await verifySignature(proof)
          return {
            thumbprint: proof.key.thumbprint,
            nonce: expiry.newNonce,
            spend: () => judge(sender, refuseAtEndpoint, () => spend(proof, expiry, true)),
          }
        },
        false,
      )
    },

    /** Undefined where none is demanded. */
    currentNonce: () => (options.nonce === 'off' ? undefined : nonces.current()),

    close: () => verifier.close(),
  }

  async function isDemanded(clientId: string): Promise<boolean> {
    if (options.nonce !== 'public') return options.nonce === 'all'
    return (await options.clients.find(clientId))?.public ?? true
  }

  /** With a nonce of this server, the time of the client does not matter. */
  function findExpiry({ issuedAt, nonce }: Proof, isDemanded: boolean): Expiry {
    const found = nonce === undefined || options.nonce === 'off' ? undefined : nonces.find(nonce)
    if (found !== undefined)
      return {
        at: found.validUntil,
        hasNonce: true,
        madeAt: found.issuedAt,
        newNonce: found.isOld ? nonces.current() : undefined,
      }
    if (options.nonce !== 'off' && (isDemanded || nonce !== undefined))
      throw new ProofFault(nonce === undefined ? 'it has no nonce' : 'its nonce is not valid any more', 'nonce')
    const time = issuedAt * 1000
    if (time < clock() - BACK_MS) throw new ProofFault('iat is too long ago')
    if (time > clock() + AHEAD_MS) throw new ProofFault('iat is in the future')
    return { at: time + BACK_MS, hasNonce: false, madeAt: time }
  }

  function expiryOnConnection({ nonce }: Proof, expected: string): Expiry {
    if (nonce !== expected) throw new ProofFault('its nonce is not that of the connection')
    return { at: clock() + CONNECTION_MS, hasNonce: true, madeAt: clock() }
  }

  async function verifySignature(proof: Proof): Promise<void> {
    const began = performance.now()
    const isGood = await verifier.verify(proof.text, proof.key)
    observe((performance.now() - began) / 1000)
    if (!isGood) throw new ProofFault('its signature is wrong')
    keys.keep(proof.header, proof.key)
  }

  async function spend(proof: Proof, expiry: Expiry, isShared: boolean): Promise<void> {
    const isNew = isShared ? await spendInDatabase(proof, expiry) : await spendInMemory(proof, expiry)
    if (!isNew) throw new ProofFault('it was used before', 'replayed')
  }

  function spendInDatabase({ key: { thumbprint }, id }: Proof, { at }: Expiry): Promise<boolean> {
    return options.spentJwts.spend(USE, thumbprint, id, at)
  }

  async function spendInMemory(proof: Proof, expiry: Expiry): Promise<boolean> {
    const { at: expiresAt, hasNonce: isLong, madeAt } = expiry
    const canAskForNonce = options.nonce !== 'off'
    // Used before the memory began, perhaps. The client makes another one.
    if (madeAt < since())
      throw new ProofFault('it is older than the start of the server', canAskForNonce ? 'nonce' : 'refused')
    const { thumbprint } = proof.key
    const added = usedProofs.add({ id: `${thumbprint}${proof.id}`, expiresAt, isLong })
    const remembered = typeof added === 'string' ? added : await added
    // RFC 9449 §8: with a nonce, fewer proofs have to be remembered.
    if (remembered === 'full' && !isLong && canAskForNonce) throw new ProofFault('it has no nonce', 'nonce')
    if (remembered === 'used') return false
    // By a clock that is ahead, it is still good after a restart, which only the database survives.
    if (remembered === 'full' || madeAt > clock()) return spendInDatabase(proof, expiry)
    return isLong || madeAt >= since() + AHEAD_MS || !(await options.spentJwts.isSpent(USE, thumbprint, proof.id))
  }

  /** Counts and records what becomes of a proof. */
  async function judge<Result>(
    sender: Sender,
    toRefusal: (fault: ProofFault, nonce: string) => Refusal,
    check: () => Promise<Result>,
    isLast = true,
  ): Promise<Result> {
    try {
      const result = await check()
      if (isLast) countAccepted(1)
      return result
    } catch (error) {
      if (!(error instanceof ProofFault)) throw error
      metrics.count('gatehouse_dpop_proofs_total', { outcome: error.outcome })
      if (error.outcome !== 'nonce') record(sender, error)
      throw toRefusal(error, nonces.current())
    }
  }

  function record(
    { clientId: client, actor, path, address, requestId }: Sender,
    { message: reason }: ProofFault,
  ): void {
    audit.record({ event: 'proof.refused', actor, client, address, requestId, details: { reason, path } })
  }
}

function rememberHere(clock: Clock, since: number): UsedProofs {
  const memories = new ReplayMemories(clock)
  return {
    since,
    get size() {
      return memories.size
    },
    add: (proof) => memories.add(proof),
  }
}

/** RFC 9449 §5.2, §8: an error of the token endpoint. */
function refuseAtEndpoint({ message, outcome }: ProofFault, nonce: string): Refusal {
  if (outcome !== 'nonce') return refuse('invalid_dpop_proof', faultText(message))
  return refuse('use_dpop_nonce', NONCE_NEEDED, { headers: { 'dpop-nonce': nonce } })
}

/** RFC 9449 §7.1, §9: an error of a resource. */
function refuseAccess({ message, outcome }: ProofFault, nonce: string): Refusal {
  if (outcome !== 'nonce') {
    const text = faultText(message)
    const headers = { 'www-authenticate': proofChallenge('invalid_dpop_proof', text) }
    return new Refusal('access.invalid_dpop_proof', 401, text, { headers })
  }
  const headers = { 'www-authenticate': proofChallenge('use_dpop_nonce', NONCE_NEEDED), 'dpop-nonce': nonce }
  return new Refusal('access.use_dpop_nonce', 401, NONCE_NEEDED, { headers })
}

const NONCE_NEEDED = 'The DPoP proof needs the nonce of this response'

function faultText(fault: string): string {
  return `The DPoP proof is not accepted: ${fault}`
}

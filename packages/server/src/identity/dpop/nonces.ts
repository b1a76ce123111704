/**
 * Nonces for DPoP proofs (RFC 9449 §8): each is an HMAC over a step of five minutes, so that every node knows those of all. In the step in
 * which the memory of used proofs begins, it is one over that time, so that earlier and later proofs can be distinguished.
 */
import { createHmac } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'
import { LruMap } from '../../lib/lru-map.ts'

const STEP_MS = 5 * 60_000
/** How far the clock of another node may be ahead of this one's. */
const AHEAD_MS = 15_000
/** The step, and the milliseconds since its beginning unless there are none. */
const FORM = /^([0-9a-z]{1,9})(?:-([0-9a-z]{1,4}))?\./
/** A node needs three of its own, and those with which other nodes have begun. */
const MOST_KNOWN = 64

export type Nonces = ReturnType<typeof createNonces>

export interface ValidNonce {
  /** There is a newer one by now. */
  readonly isOld: boolean
  /** It was never issued before. */
  readonly issuedAt: number
  /** When it is no longer accepted. */
  readonly validUntil: number
}

/** `since`: when the memory of used proofs began. */
export function createNonces(key: Buffer, clock: Clock, since: () => number) {
  const known = new LruMap<string>(MOST_KNOWN)

  return {
    /** The one to use from now on. It is the same for all clients, and no secret. */
    current(): string {
      const step = stepAt(clock())
      return computeNonce(step, Math.max(0, since() - step * STEP_MS))
    },

    /** A nonce of this step or the one before; undefined for any other text. */
    find(nonce: string): ValidNonce | undefined {
      const [, stepText = '', offsetText = '0'] = FORM.exec(nonce) ?? []
      const now = clock()
      const current = stepAt(now)
      const [step, offset] = [Number.parseInt(stepText, 36), Number.parseInt(offsetText, 36)]
      const issuedAt = step * STEP_MS + offset
      const isRecent = step === current || step === current - 1 || step === stepAt(now + AHEAD_MS)
      if (!isRecent || offset >= STEP_MS || nonce !== computeNonce(step, offset)) return undefined
      return { isOld: step < current, issuedAt, validUntil: (step + 2) * STEP_MS }
    },
  }

  function computeNonce(step: number, offset: number): string {
    const form = offset === 0 ? step.toString(36) : `${step.toString(36)}-${offset.toString(36)}`
    let nonce = known.get(form)
    if (nonce === undefined) {
      const text = offset === 0 ? String(step) : `${step} ${offset}`
      const digest = createHmac('sha256', key).update(text).digest().subarray(0, 16)
      nonce = `${form}.${digest.toString('base64url')}`
      known.set(form, nonce)
    }
    return nonce
  }
}

function stepAt(time: number): number {
  return Math.floor(time / STEP_MS)
}

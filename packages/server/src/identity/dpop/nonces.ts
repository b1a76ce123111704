/** Nonces for DPoP proofs (RFC 9449 §8): each is an HMAC over a step of five minutes, so that every node knows those of all. */
import { createHmac } from 'node:crypto'
import type { Clock } from 'gatehouse-protocol'

const STEP_MS = 5 * 60_000
/** How far the clock of another node may be ahead of this one's. */
const AHEAD_MS = 15_000

export type Nonces = ReturnType<typeof createNonces>

export interface ValidNonce {
  /** There is a newer one by now. */
  readonly isOld: boolean
  /** When it is no longer accepted. */
  readonly validUntil: number
}

export function createNonces(key: Buffer, clock: Clock) {
  /** By step: a node needs three of them at a time. */
  let known = new Map<number, string>()

  return {
    /** The one to use from now on. It is the same for all clients, and no secret. */
    current: (): string => nonceOf(stepAt(clock())),

    /** The nonce of this step or the one before; undefined for any other text. */
    find(nonce: string): ValidNonce | undefined {
      const now = clock()
      const step = stepAt(now)
      for (const each of [step, step - 1, stepAt(now + AHEAD_MS)])
        if (nonce === nonceOf(each)) return { isOld: each < step, validUntil: (each + 2) * STEP_MS }
      return undefined
    },
  }

  function nonceOf(step: number): string {
    let nonce = known.get(step)
    if (nonce === undefined) {
      const digest = createHmac('sha256', key).update(String(step)).digest().subarray(0, 16)
      nonce = `${step.toString(36)}.${digest.toString('base64url')}`
      known = new Map([...known, [step, nonce] as const].slice(-4))
    }
    return nonce
  }
}

function stepAt(time: number): number {
  return Math.floor(time / STEP_MS)
}

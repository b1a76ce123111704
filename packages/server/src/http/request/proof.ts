/** DPoP (RFC 9449) as the services see it: how the proof of a request is checked, and the challenges that name the scheme. */
import type { Principal } from 'gatehouse-protocol'

/** The use of an access token that is bound to a key, with the proof of possession of that key. */
export interface ProvenUse {
  readonly proof: string | undefined
  readonly method: string
  /** Below the base path of the issuer. */
  readonly path: string
  readonly accessToken: string
  readonly principal: Principal
  /** Once on all nodes, not only on this one. */
  readonly isShared: boolean
  /** The nonce of a streaming connection, the only one that its proofs may have. */
  readonly nonce?: string | undefined
  readonly address: string
  readonly requestId: string
}

/** Throws a Refusal unless the proof is good and was not used before; returns a new nonce if the client should use one from now on. */
export type CheckProof = (use: ProvenUse) => Promise<string | undefined>

/** Of `dpop_signing_alg_values_supported`. `EdDSA` is the name of Ed25519 before RFC 9864. */
export const PROOF_ALGS = ['ES256', 'PS256', 'Ed25519', 'EdDSA'] as const
const ALGS = `algs="${PROOF_ALGS.join(' ')}"`

/** RFC 9449 §7.1. The text is without quotation marks. */
export function proofChallenge(error: string, text: string): string {
  return `DPoP realm="gatehouse", error="${error}", error_description="${text}", ${ALGS}`
}

/** RFC 9110 §11.6.1: a client that sent no token may use either scheme. */
export function bothSchemes(bearer: string): string {
  return `${bearer}, DPoP ${ALGS}`
}

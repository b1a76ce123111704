/** Why a DPoP proof is not accepted: for the caller, the audit log and the metrics. */

/** `nonce`: the proof needs a nonce of this server; `replayed`: it was used before. */
export type ProofOutcome = 'refused' | 'replayed' | 'nonce'

export class ProofFault extends Error {
  override readonly name = 'ProofFault'
  readonly outcome: ProofOutcome

  constructor(text: string, outcome: ProofOutcome = 'refused') {
    super(text)
    this.outcome = outcome
  }
}

/** The replies of a session. Those of INSERTs that share a write are held back until it is done. */

import type { SessionOutput } from './contract.ts'
import type { RowOutput } from './runner.ts'

export class Replies implements RowOutput {
  readonly #output: Pick<SessionOutput, 'write' | 'drained'>
  #held: Uint8Array[] | undefined
  #hasEnded = false

  constructor(output: Pick<SessionOutput, 'write' | 'drained'>) {
    this.#output = output
  }

  write(bytes: Uint8Array): boolean {
    if (this.#hasEnded) return true
    if (this.#held === undefined) return this.#output.write(bytes)
    this.#held.push(bytes)
    return true
  }

  drained(): Promise<void> {
    return this.#output.drained()
  }

  hold(): void {
    this.#held ??= []
  }

  /** Sends what was held back. */
  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const bytes of held) this.write(bytes)
  }

  /** Forgets what was held back: it did not happen. */
  drop(): void {
    this.#held = undefined
  }

  /** The connection is gone. */
  end(): void {
    this.#hasEnded = true
    this.#held = undefined
  }
}

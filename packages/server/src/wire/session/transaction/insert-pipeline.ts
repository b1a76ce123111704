/**
 * INSERTs of the extended protocol that follow each other up to Sync, outside a transaction block: as in PostgreSQL they are one
 * transaction, written at once. Their replies are sent once they are written.
 */

import type { ConnectionMemory } from '../../protocol/connection-memory.ts'
import { commandComplete } from '../../protocol/replies.ts'
import type { Later } from '../contract.ts'
import type { Replies } from '../replies.ts'
import type { Runner } from '../runner.ts'
import type { BoundPortal } from '../statement/iql-statement.ts'
import { DeferredInserts } from './deferred-rows.ts'

export class InsertPipeline {
  readonly #memory: ConnectionMemory
  readonly #replies: Replies
  readonly #runner: Runner
  #inserts: DeferredInserts | undefined

  constructor(memory: ConnectionMemory, replies: Replies, runner: Runner) {
    this.#memory = memory
    this.#replies = replies
    this.#runner = runner
  }

  add(bound: BoundPortal): void {
    const inserts = this.#inserts ?? new DeferredInserts(this.#memory)
    const rows = inserts.addStatement(bound, this.#runner)
    this.#inserts = inserts
    this.#replies.buffer()
    this.#replies.write(commandComplete(`INSERT 0 ${rows}`))
  }

  /** Before what follows them; undefined if there are none. */
  write(): Later {
    const inserts = this.#inserts
    if (inserts === undefined) return undefined
    this.#inserts = undefined
    return inserts.write(this.#runner).then(
      () => this.#replies.sendBuffered(),
      (error) => {
        this.#replies.dropBuffered()
        throw error
      },
    )
  }

  /** An error follows them: nothing is written. */
  drop(): void {
    this.#inserts?.drop()
    this.#inserts = undefined
    this.#replies.sendBuffered()
  }
}

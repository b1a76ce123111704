/** The simple protocol: the statements of a Query, one after the other (PostgreSQL 55.2.2). Several of them are an implicit transaction block. */
import { EMPTY_QUERY_RESPONSE } from '../protocol/replies.ts'
import type { Later } from './contract.ts'
import { WireError } from './failure.ts'
import { type Portal, type Protocol, UNBOUND } from './portal/portal.ts'
import type { Portals } from './portal/portals.ts'
import type { Replies } from './replies.ts'
import type { Runner } from './runner.ts'
import { markCounted, type Prepare, type PreparedStatements } from './statement/prepared-statement.ts'
import { type StatementText, splitStatements } from './statement/split.ts'
import type { TransactionBlock } from './transaction/block.ts'
import type { InsertPipeline } from './transaction/insert-pipeline.ts'

const MAX_STATEMENTS = 100

export interface SimpleQueryEnv {
  readonly runner: Runner
  readonly replies: Replies
  readonly block: TransactionBlock
  readonly pipeline: InsertPipeline
  readonly portals: Portals
  readonly statements: PreparedStatements
  readonly prepare: Prepare
  readonly execute: (portal: Portal, maxRows: number, protocol: Protocol) => Later
  /** False unless the last statement was a COPY whose rows the client sends: `rest` is called after them. */
  readonly continueAfterCopy: (rest: () => Later) => boolean
  readonly endImplicit: () => Later
  readonly onDone: () => void
}

export class SimpleQuery {
  readonly #env: SimpleQueryEnv

  constructor(env: SimpleQueryEnv) {
    this.#env = env
  }

  run(text: string): Later {
    const { runner, statements, pipeline } = this.#env
    runner.sent = { text, offset: 0 }
    statements.delete('')
    return pipeline.write()?.then(() => this.#run(text)) ?? this.#run(text)
  }

  #run(text: string): Later {
    const statements = splitStatements(text)
    if (statements.length > MAX_STATEMENTS)
      throw new WireError('54000', `A Query has at most ${MAX_STATEMENTS} statements`)
    if (statements.length === 0) this.#env.replies.write(EMPTY_QUERY_RESPONSE)
    return this.#runFrom(text, statements, 0)
  }

  /** Statements that are answered at once are run in one turn. */
  #runFrom(text: string, statements: readonly StatementText[], first: number): Later {
    const { runner, block, continueAfterCopy, endImplicit, onDone } = this.#env
    for (let index = first; index < statements.length; index++) {
      const statement = statements[index]
      if (statement === undefined) break
      if (statements.length > 1 && !block.isOpen) block.begin('implicit')
      runner.admit()
      const later = runner.whenPlanned(() => this.#runStatement(text, statement))
      const rest = (): Later => this.#runFrom(text, statements, index + 1)
      if (continueAfterCopy(rest)) return later
      if (later !== undefined) return later.then(rest)
    }
    const ended = block.isOpen ? endImplicit() : undefined
    if (ended !== undefined) return ended.then(onDone)
    onDone()
    return undefined
  }

  #runStatement(text: string, statement: StatementText): Later {
    const { runner, portals, prepare, execute } = this.#env
    const prepared = prepare(statement, { text, offset: 0 }, [])
    markCounted(prepared)
    const portal = portals.bind(prepared, UNBOUND)
    runner.sent = prepared.sent
    return execute(portal, 0, 'simple')
  }
}

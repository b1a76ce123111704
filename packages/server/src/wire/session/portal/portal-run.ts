/** Execute: runs the statement of a portal, or goes on with it, and sends its rows and the tag of its completion. */
import { type BoundStatement, reads } from 'gatehouse-iql'
import { commandComplete, PORTAL_SUSPENDED } from '../../protocol/replies.ts'
import type { Later, RowOutput } from '../contract.ts'
import { replaceByInserts } from '../copy/deferred-copy.ts'
import { type Execution, writeNotices } from '../execution.ts'
import type { Replies } from '../replies.ts'
import type { Runner } from '../runner.ts'
import { type CatalogueStatements, catalogueDescription } from '../statement/catalogue-statement.ts'
import { takeCounted } from '../statement/prepared-statement.ts'
import type { TransactionBlock } from '../transaction/block.ts'
import { isDeferrable } from '../transaction/deferred-rows.ts'
import type { InsertPipeline } from '../transaction/insert-pipeline.ts'
import type { CataloguePortal, Delivery, IqlPortal, RowsPortal } from './portal.ts'
import type { Portals } from './portals.ts'

/** Of a column of a catalogue statement. */
const COLUMN_BYTES = 100

/** For MOVE. */
const NOWHERE: RowOutput = { write: () => true, drained: async () => {}, hasSentAll: () => true }

export interface PortalRunEnv {
  readonly runner: Runner
  readonly replies: Replies
  readonly block: TransactionBlock
  readonly pipeline: InsertPipeline
  readonly portals: Portals
  readonly catalogue: CatalogueStatements
}

/** `maxRows` 0: all rows. */
export function runPortal(portal: RowsPortal, maxRows: number, delivery: Delivery, env: PortalRunEnv): Later {
  return new PortalRun(env, maxRows, delivery).run(portal)
}

class PortalRun {
  readonly #env: PortalRunEnv
  readonly #maxRows: number
  readonly #delivery: Delivery

  constructor(env: PortalRunEnv, maxRows: number, delivery: Delivery) {
    this.#env = env
    this.#maxRows = maxRows
    this.#delivery = delivery
  }

  run(portal: RowsPortal): Later {
    if (portal.execution !== undefined) return this.#resume(portal, portal.execution)
    this.#env.runner.admit(takeCounted(portal.prepared))
    if (portal.kind === 'catalogue') return this.#runCatalogue(portal)
    if (!reads(portal.bound.planned.bound.statement)) return this.#write(portal)
    const written = this.#env.pipeline.write()
    return written === undefined ? this.#read(portal) : written.then(() => this.#read(portal))
  }

  // ── Reads ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A small result is sent at once. */
  #read(portal: IqlPortal): Later {
    const { block, runner } = this.#env
    block.requireReadable(portal.bound.planned.bound.tables)
    const execution = runner.execute(portal.bound, portal.prepared.text)
    if (execution instanceof Promise) return this.#sendLater(portal, execution)
    portal.execution = execution
    const isWhole = this.#delivery.command === undefined && (this.#maxRows === 0 || execution.rowCount < this.#maxRows)
    if (isWhole) return this.#sendAll(portal, execution)
    execution.countRows()
    writeNotices(execution, this.#env.replies)
    return this.#describeAndSend(portal, execution)
  }

  /** As one write, in this turn. */
  #sendAll(portal: IqlPortal, execution: Execution): undefined {
    const { replies } = this.#env
    try {
      writeNotices(execution, replies)
      if (this.#delivery.isDescribed) this.#describe(portal)
      const bytes = execution.takeAll()
      if (bytes.length > 0) replies.write(bytes)
      const { rowCount } = execution
      replies.write(commandComplete(completionTag(portal.bound.planned.bound.statement, rowCount)))
      execution.succeed(rowCount)
    } catch (error) {
      execution.fail(error)
      throw error
    }
  }

  async #sendLater(portal: RowsPortal, started: Promise<Execution>): Promise<void> {
    const execution = await started
    portal.execution = execution
    writeNotices(execution, this.#env.replies)
    await this.#describeAndSend(portal, execution)
  }

  async #runCatalogue(portal: CataloguePortal): Promise<void> {
    const { pipeline, catalogue, portals } = this.#env
    await pipeline.write()
    const { columns, execution } = await catalogue.execute(portal.prepared, portal.message)
    portal.execution = execution
    portal.columns = columns
    try {
      portals.count(portal, COLUMN_BYTES * columns.length)
    } catch (error) {
      execution.fail(error)
      throw error
    }
    await this.#describeAndSend(portal, execution)
  }

  #resume(portal: RowsPortal, execution: Execution): Later {
    const { runner, replies } = this.#env
    execution.resume(() => {
      if (portal.kind === 'iql') runner.permit(portal.bound)
    })
    if (!execution.hasEnded) return this.#describeAndSend(portal, execution)
    if (this.#delivery.isDescribed) this.#describe(portal)
    // A portal that has returned its rows returns no more.
    replies.write(commandComplete(`${this.#delivery.command ?? 'SELECT'} 0`))
    return undefined
  }

  // ── Writes ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #write(portal: IqlPortal): Later {
    const { block, pipeline } = this.#env
    const { bound } = portal
    block.requireWritable()
    const mayDefer = isDeferrable(bound)
    if (block.isOpen && mayDefer) return this.#defer(portal)
    block.requireNone()
    if (mayDefer && !this.#delivery.isDescribed) {
      pipeline.add(bound)
      return undefined
    }
    const run = (): Promise<void> => this.#sendLater(portal, this.#execute(portal))
    return pipeline.write()?.then(run) ?? run()
  }

  async #execute({ bound, prepared }: IqlPortal): Promise<Execution> {
    return this.#env.runner.execute(bound, prepared.text)
  }

  /** To COMMIT. */
  #defer({ bound, prepared }: IqlPortal): Later {
    const { block, runner, replies } = this.#env
    const { copy } = block
    const add = (): undefined => {
      replies.write(commandComplete(`INSERT 0 ${block.inserts.addStatement(bound, runner)}`))
    }
    if (copy === undefined) return add()
    // This can take long, so that it is listed and can be cancelled.
    const replaced = runner.defer(prepared.text, ({ signal }) => replaceByInserts(copy, this.#env, signal))
    return replaced.then(add)
  }

  // ── Replies ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #describe(portal: RowsPortal): void {
    const description =
      portal.kind === 'iql'
        ? portal.prepared.describe(portal.bound.formats)
        : catalogueDescription(portal.columns ?? [], portal.message.resultFormats)
    if (description !== undefined) this.#env.replies.write(description)
  }

  async #describeAndSend(portal: RowsPortal, execution: Execution): Promise<void> {
    const { replies } = this.#env
    const { command, isDescribed } = this.#delivery
    try {
      if (isDescribed) this.#describe(portal)
      const count = await execution.send(this.#maxRows, command === 'MOVE' ? NOWHERE : replies)
      if (this.#maxRows > 0 && count === this.#maxRows) {
        execution.suspend()
        replies.write(command === undefined ? PORTAL_SUSPENDED : commandComplete(`${command} ${count}`))
        return
      }
      const tag =
        portal.kind === 'catalogue' || command !== undefined
          ? `${command ?? 'SELECT'} ${count}`
          : completionTag(portal.bound.planned.bound.statement, execution.affected ?? count)
      replies.write(commandComplete(tag))
      execution.succeed()
    } catch (error) {
      execution.fail(error)
      throw error
    }
  }
}

/** The tag of CommandComplete. */
function completionTag(statement: BoundStatement, rows: number): string {
  switch (statement.kind) {
    case 'query':
      return `SELECT ${rows}`
    case 'insert':
      return `INSERT 0 ${rows}`
    case 'update':
      return `UPDATE ${rows}`
    case 'delete':
      return `DELETE ${rows}`
    case 'explain':
    case 'explain-live':
    case 'explain-retention':
      return 'EXPLAIN'
    case 'describe':
    case 'show-tables':
      return 'SHOW'
    case 'create-table':
      return statement.query === undefined ? 'CREATE TABLE' : `SELECT ${rows}`
    case 'create-kept-view':
      return 'CREATE MATERIALIZED VIEW'
    case 'drop-kept-view':
      return 'DROP MATERIALIZED VIEW'
    case 'refresh-view':
      return 'REFRESH MATERIALIZED VIEW'
    case 'drop-table':
    case 'create-view':
    case 'drop-view':
    case 'create-index':
    case 'drop-index':
      return statement.kind.replace('-', ' ').toUpperCase()
    case 'set-rights':
      return statement.table.isKept ? 'ALTER MATERIALIZED VIEW' : 'ALTER TABLE'
    default:
      return 'ALTER TABLE'
  }
}

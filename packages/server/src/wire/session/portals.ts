/** The portals of a session: bound statements, and how far each of them has run. */
import { reads } from 'gatehouse-iql'
import type { BindMessage, Format } from '../protocol/messages.ts'
import { commandComplete, NO_DATA, PORTAL_SUSPENDED, parameterDescription } from '../protocol/replies.ts'
import { type Block, KeptInserts } from './block.ts'
import { catalogueDescription } from './catalogue-rows.ts'
import { type BoundValues, CatalogueStatements } from './catalogue-statements.ts'
import { tagOf } from './command-tag.ts'
import type { SessionCaller } from './contract.ts'
import type { SessionEnv } from './env.ts'
import { outcomeOf, WireError } from './failure.ts'
import { PortalRows } from './portal-rows.ts'
import type { CatalogueStatement, CommandStatement, Prepared } from './prepared.ts'
import type { Replies } from './replies.ts'
import type { Execution, Runner } from './runner.ts'
import { type BoundPortal, type IqlStatement, sizeOf } from './statement.ts'

const MAX_PORTALS = 100
/** Of a value, besides its bytes. */
const VALUE_BYTES = 120
/** Portals of this size and less are not counted. */
const SMALL_BYTES = 4096

type Later = Promise<void> | undefined

export interface IqlPortal {
  readonly kind: 'iql'
  readonly prepared: IqlStatement
  readonly bound: BoundPortal
  /** Since the first Execute. */
  execution: Execution | undefined
}

export interface CommandPortal {
  readonly kind: 'command'
  readonly prepared: CommandStatement
  readonly formats: readonly Format[]
}

interface CataloguePortal {
  readonly kind: 'catalogue'
  readonly prepared: CatalogueStatement
  readonly message: BoundValues
  execution: Execution | undefined
}

export type Portal =
  | { readonly kind: 'empty'; readonly prepared: Prepared }
  | CommandPortal
  | CataloguePortal
  | IqlPortal

/** What describes the rows of commands. */
export interface CommandColumns {
  describe(statement: CommandStatement, formats: readonly Format[]): Buffer | undefined
}

export class Portals {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #replies: Replies
  readonly #runner: Runner
  readonly #block: Block
  readonly #catalogue: CatalogueStatements
  readonly #portals = new Map<string, Portal>()
  /** The memory that long ones take. */
  readonly #sizes = new Map<string, number>()
  /** INSERTs without a block that follow each other up to Sync: they are one write. */
  #pending: KeptInserts | undefined

  constructor(env: SessionEnv, caller: SessionCaller, replies: Replies, runner: Runner, block: Block) {
    this.#env = env
    this.#caller = caller
    this.#replies = replies
    this.#runner = runner
    this.#block = block
    this.#catalogue = new CatalogueStatements(env, caller, runner)
  }

  bind(prepared: Prepared, message: BindMessage): Portal {
    switch (prepared.kind) {
      case 'empty':
        return { kind: 'empty', prepared }
      case 'command':
        if (message.values.length > 0) throw new WireError('08P01', 'The statement has no parameters')
        return { kind: 'command', prepared, formats: message.resultFormats }
      case 'catalogue': {
        // The bytes of the message are reused.
        const values = message.values.map((value) => value && Buffer.from(value))
        return { kind: 'catalogue', prepared, message: { ...message, values }, execution: undefined }
      }
      case 'iql': {
        const bound = prepared.bind(message, this.#caller.principal, this.#env)
        return { kind: 'iql', prepared, bound, execution: undefined }
      }
    }
  }

  add(name: string, portal: Portal): void {
    if (name === '') this.close('')
    else if (this.#portals.has(name)) throw new WireError('42P03', `The portal ${JSON.stringify(name)} exists`)
    else if (this.#portals.size >= MAX_PORTALS)
      throw new WireError('54000', `A connection has at most ${MAX_PORTALS} portals`, 'Close some')
    const size = 2 * name.length + bytesOf(portal)
    if (size > SMALL_BYTES) {
      this.#caller.memory.take(size)
      this.#sizes.set(name, size)
    }
    this.#portals.set(name, portal)
  }

  get(name: string): Portal {
    const portal = this.#portals.get(name)
    if (portal === undefined) throw new WireError('34000', `There is no portal ${JSON.stringify(name)}`)
    return portal
  }

  close(name: string): void {
    const portal = this.#portals.get(name)
    if (portal === undefined) return
    this.#portals.delete(name)
    this.#caller.memory.give(this.#sizes.get(name) ?? 0)
    this.#sizes.delete(name)
    const execution = 'execution' in portal ? portal.execution : undefined
    if (execution !== undefined && !execution.hasEnded) this.#runner.finish(execution, 'ok', execution.rowCount)
  }

  closeAll(): void {
    for (const name of this.#portals.keys()) this.close(name)
  }

  // ── Describe ──────────────────────────────────────────────────────────────────────────────────────────────────────

  describe(portal: Portal, commands: CommandColumns): Later {
    switch (portal.kind) {
      case 'empty':
        this.#replies.write(NO_DATA)
        return undefined
      case 'command':
        this.#replies.write(commands.describe(portal.prepared, portal.formats) ?? NO_DATA)
        return undefined
      case 'iql':
        this.#replies.write(portal.prepared.describe(portal.bound.formats) ?? NO_DATA)
        return undefined
      case 'catalogue':
        return this.#catalogue.describe(portal.prepared).then(({ columns }) => {
          this.#replies.write(catalogueDescription(columns, portal.message.resultFormats))
        })
    }
  }

  describeStatement(prepared: Prepared, commands: CommandColumns): Later {
    switch (prepared.kind) {
      case 'empty':
        this.#replies.write(parameterDescription([]))
        this.#replies.write(NO_DATA)
        return undefined
      case 'command':
        this.#replies.write(parameterDescription([]))
        this.#replies.write(commands.describe(prepared, []) ?? NO_DATA)
        return undefined
      case 'iql':
        this.#replies.write(parameterDescription(prepared.parameterTypes))
        this.#replies.write(prepared.describe([]) ?? NO_DATA)
        return undefined
      case 'catalogue':
        return this.#catalogue.describe(prepared).then(({ columns, parameters }) => {
          this.#replies.write(parameterDescription(parameters))
          this.#replies.write(catalogueDescription(columns, []))
        })
    }
  }

  // ── Execute ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** In the simple protocol, RowDescription precedes the rows. */
  run(portal: IqlPortal | CataloguePortal, maxRows: number, protocol: 'simple' | 'extended'): Later {
    if (portal.execution !== undefined) return this.#resume(portal, portal.execution, maxRows)
    this.#runner.admit()
    if (portal.kind === 'catalogue') return this.#runCatalogue(portal, maxRows, protocol)
    const { statement } = portal.bound.planned.bound
    if (!reads(statement)) return this.#write(portal, maxRows, protocol)
    const pending = this.writePending()
    return pending === undefined
      ? this.#read(portal, maxRows, protocol)
      : pending.then(() => this.#read(portal, maxRows, protocol))
  }

  #read(portal: IqlPortal, maxRows: number, protocol: 'simple' | 'extended'): Later {
    const { bound, prepared } = portal
    this.#block.requireReadable(bound.planned.bound.tables)
    const execution = this.#runner.begin(prepared.text)
    portal.execution = execution
    try {
      const call = this.#runner.callOf(bound, execution.requestId, bound.encoding)
      const small = this.#runner.readNow(call)
      if (small === undefined) return this.#runLater(portal, execution, maxRows, protocol)
      if (protocol === 'simple') this.#sendDescription(portal)
      execution.rowCount = small.rowCount
      if (maxRows > 0 && small.rowCount >= maxRows) {
        execution.rows = new PortalRows(small.bytes, undefined)
        return this.#send(portal, execution, maxRows)
      }
      if (small.bytes.length > 0) this.#replies.write(small.bytes)
      this.#complete(execution, tagOf(call.planned.bound.statement, small.rowCount), small.rowCount)
      return undefined
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
  }

  #sendDescription({ prepared }: IqlPortal): void {
    const description = prepared.describe([])
    if (description !== undefined) this.#replies.write(description)
  }

  async #runLater(
    portal: IqlPortal,
    execution: Execution,
    maxRows: number,
    protocol: 'simple' | 'extended',
  ): Promise<void> {
    const { bound } = portal
    try {
      const call = this.#runner.callOf(bound, execution.requestId, bound.encoding)
      const affected = await this.#runner.start(call, execution)
      execution.affected = affected
      if (protocol === 'simple') this.#sendDescription(portal)
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
    await this.#send(portal, execution, maxRows)
  }

  #resume(portal: IqlPortal | CataloguePortal, execution: Execution, maxRows: number): Later {
    if (execution.hasEnded) {
      // A portal that has returned its rows returns no more.
      this.#replies.write(commandComplete('SELECT 0'))
      return undefined
    }
    this.#runner.resume(execution, portal.kind === 'iql' ? portal.bound : undefined)
    return this.#send(portal, execution, maxRows)
  }

  async #send(portal: IqlPortal | CataloguePortal, execution: Execution, maxRows: number): Promise<void> {
    try {
      const count = await this.#runner.send(execution, maxRows)
      execution.sent += count
      if (maxRows > 0 && count === maxRows) {
        this.#runner.suspend(execution)
        this.#replies.write(PORTAL_SUSPENDED)
        return
      }
      const tag =
        portal.kind === 'catalogue'
          ? `SELECT ${count}`
          : tagOf(portal.bound.planned.bound.statement, execution.affected ?? count)
      this.#complete(execution, tag, execution.sent)
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), execution.sent)
      throw error
    }
  }

  #complete(execution: Execution, tag: string, rows: number): void {
    this.#replies.write(commandComplete(tag))
    this.#runner.finish(execution, 'ok', rows)
  }

  // ── Catalogue ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #runCatalogue(portal: CataloguePortal, maxRows: number, protocol: 'simple' | 'extended'): Promise<void> {
    await this.writePending()
    const execution = this.#runner.begin(portal.prepared.text)
    portal.execution = execution
    try {
      const { columns, rows } = await this.#catalogue.run(portal.prepared, portal.message, execution)
      if (protocol === 'simple') this.#replies.write(catalogueDescription(columns, []))
      execution.rowCount = rows
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
    await this.#send(portal, execution, maxRows)
  }

  // ── Writes ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #write(portal: IqlPortal, maxRows: number, protocol: 'simple' | 'extended'): Later {
    const { bound } = portal
    this.#runner.requireWritable()
    const isKeepable = this.#runner.isKeepable(bound)
    if (this.#block.isOpen && isKeepable) {
      this.#replies.write(commandComplete(`INSERT 0 ${this.#runner.keep(bound, this.#block.kept)}`))
      return undefined
    }
    this.#runner.requireOutsideBlock(bound)
    if (isKeepable && protocol === 'extended') {
      const kept = this.#pending ?? new KeptInserts(this.#caller.memory)
      const rows = this.#runner.keep(bound, kept)
      this.#pending = kept
      this.#replies.hold()
      this.#replies.write(commandComplete(`INSERT 0 ${rows}`))
      return undefined
    }
    const run = (): Promise<void> => {
      const execution = this.#runner.begin(portal.prepared.text)
      portal.execution = execution
      return this.#runLater(portal, execution, maxRows, protocol)
    }
    return this.writePending()?.then(run) ?? run()
  }

  /** Writes the INSERTs before this message, and only then sends their replies; undefined if there are none. */
  writePending(): Later {
    const pending = this.#pending
    if (pending === undefined) return undefined
    this.#pending = undefined
    return this.#runner.writeKept(pending).then(
      () => this.#replies.release(),
      (error) => {
        this.#replies.drop()
        throw error
      },
    )
  }

  /** An error follows the INSERTs: nothing is written. */
  dropPending(): void {
    this.#pending?.release()
    this.#pending = undefined
    this.#replies.release()
  }
}

function bytesOf(portal: Portal): number {
  switch (portal.kind) {
    case 'empty':
      return 0
    case 'command':
      return 8 * portal.formats.length
    case 'iql':
      return sizeOf(portal.bound)
    case 'catalogue': {
      const { values, parameterFormats, resultFormats } = portal.message
      const formats = 8 * (parameterFormats.length + resultFormats.length)
      return values.reduce((sum, value) => sum + VALUE_BYTES + (value?.length ?? 0), formats)
    }
  }
}

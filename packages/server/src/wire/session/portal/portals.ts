/** The portals of a session: bound statements, and how far each of them has run. */
import { reads } from 'gatehouse-iql'
import type { BindMessage, Format } from '../../protocol/messages.ts'
import { commandComplete, NO_DATA, PORTAL_SUSPENDED, parameterDescription } from '../../protocol/replies.ts'
import type { SessionCaller } from '../contract.ts'
import { spreadForStatement } from '../copy/copy-inserts.ts'
import type { SessionEnv } from '../env.ts'
import { outcomeOf, WireError } from '../failure.ts'
import type { Replies } from '../replies.ts'
import { catalogueDescription } from '../rows/catalogue-rows.ts'
import { PortalRows } from '../rows/row-stream.ts'
import type { RowOutput, Runner } from '../runner.ts'
import { CatalogueStatements } from '../statement/catalogue-statement.ts'
import { type BoundPortal, type IqlStatement, isKeepable } from '../statement/iql-statement.ts'
import { type CatalogueStatement, isCounted, type Prepared } from '../statement/prepared-statement.ts'
import { type Block, KeptInserts } from '../transaction/block.ts'
import { tagOf } from './command-tag.ts'
import type { Execution } from './execution.ts'
import type { IqlPortal, Portal, RowsPortal } from './portal.ts'
import { bytesOf, type CataloguePortal, type CommandColumns, type Delivery, executionOf } from './portal.ts'

const MAX_PORTALS = 100
/** Portals of this size and less are not counted. */
const SMALL_BYTES = 4096
/** Of a column of a catalogue statement. */
const COLUMN_BYTES = 100

/** For MOVE. */
const NOWHERE: RowOutput = { write: () => true, drained: async () => {}, hasSentAll: () => true }

type Later = Promise<void> | undefined

export class Portals {
  readonly #env: SessionEnv
  readonly #caller: SessionCaller
  readonly #replies: Replies
  readonly #runner: Runner
  readonly #block: Block
  readonly #catalogue: CatalogueStatements
  readonly #portals = new Map<string, Portal>()
  /** When each was created. */
  readonly #numbers = new Map<string, number>()
  #created = 0
  /** Cursors WITH HOLD whose transaction has committed. */
  readonly #held = new Set<string>()
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
        if (prepared.declared !== undefined) {
          const declared = this.#bindRows(prepared.declared, { ...message, resultFormats: [] })
          return { kind: 'command', prepared, formats: message.resultFormats, declared }
        }
        if (message.values.length > 0) throw new WireError('08P01', 'The statement has no parameters')
        return { kind: 'command', prepared, formats: message.resultFormats }
      default:
        return this.#bindRows(prepared, message)
    }
  }

  #bindRows(prepared: CatalogueStatement | IqlStatement, message: BindMessage): RowsPortal {
    switch (prepared.kind) {
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
    this.#created++
    if (name !== '') this.#numbers.set(name, this.#created)
  }

  /** Counts what a portal has come to hold until it is closed. */
  #count(portal: RowsPortal, bytes: number): void {
    for (const [name, each] of this.#portals) {
      if (each !== portal && !(each.kind === 'command' && each.executed === portal)) continue
      this.#caller.memory.take(bytes)
      this.#sizes.set(name, (this.#sizes.get(name) ?? 0) + bytes)
    }
  }

  /** A cursor, or another portal that returns rows. */
  find(name: string): RowsPortal | undefined {
    const portal = this.#portals.get(name)
    return portal?.kind === 'iql' || portal?.kind === 'catalogue' ? portal : undefined
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
    if (name !== '') this.#numbers.delete(name)
    this.#held.delete(name)
    this.#caller.memory.give(this.#sizes.get(name) ?? 0)
    this.#sizes.delete(name)
    const execution = executionOf(portal)
    if (execution !== undefined && !execution.hasEnded) this.#runner.finish(execution, 'ok', execution.rowCount)
  }

  /** How many were created since the connection began. */
  get created(): number {
    return this.#created
  }

  /** Closes those that were created later, except the one without a name. */
  closeAfter(created: number): void {
    for (const [name, number] of this.#numbers) if (number > created) this.close(name)
  }

  closeAll(): void {
    for (const name of this.#portals.keys()) this.close(name)
  }

  /** Closes those that end with every transaction: all but cursors WITH HOLD. */
  closeUnheld(): void {
    for (const [name, portal] of this.#portals) if (!isHeld(portal)) this.close(name)
  }

  /** The transaction has committed. */
  commit(): void {
    if (this.#portals.size === 0) return
    this.closeUnheld()
    for (const name of this.#portals.keys()) this.#held.add(name)
  }

  /** The transaction has failed, or is rolled back: only cursors of earlier ones go on. */
  abort(): void {
    for (const name of this.#portals.keys()) if (!this.#held.has(name)) this.close(name)
  }

  // ── Describe ──────────────────────────────────────────────────────────────────────────────────────────────────────

  describe(portal: Portal, commands: CommandColumns): Later {
    switch (portal.kind) {
      case 'empty':
        return this.#describeRows(portal.prepared, [], commands)
      case 'command':
        return this.#describeRows(portal.prepared, portal.formats, commands)
      case 'iql':
        return this.#describeRows(portal.prepared, portal.bound.formats, commands)
      case 'catalogue':
        return this.#describeRows(portal.prepared, portal.message.resultFormats, commands)
    }
  }

  describeStatement(prepared: Prepared, commands: CommandColumns): Later {
    const bound = prepared.kind === 'command' ? prepared.declared : prepared
    if (bound?.kind === 'catalogue')
      return this.#catalogue.describe(bound).then(({ parameters, columns }) => {
        this.#replies.write(parameterDescription(parameters))
        if (prepared !== bound) return this.#describeRows(prepared, [], commands)
        this.#replies.write(catalogueDescription(columns, []))
        return undefined
      })
    this.#replies.write(parameterDescription(bound?.kind === 'iql' ? bound.parameterTypes : []))
    return this.#describeRows(prepared, [], commands)
  }

  #describeRows(prepared: Prepared, formats: readonly Format[], commands: CommandColumns): Later {
    switch (prepared.kind) {
      case 'empty':
        this.#replies.write(NO_DATA)
        return undefined
      case 'command': {
        const returned = commands.rowsOf(prepared)
        if (returned !== undefined) return this.#describeRows(returned, formats, commands)
        this.#replies.write(commands.describe(prepared, formats) ?? NO_DATA)
        return undefined
      }
      case 'iql':
        this.#replies.write(prepared.describe(formats) ?? NO_DATA)
        return undefined
      case 'catalogue':
        return this.#catalogue.describe(prepared).then(({ columns }) => {
          this.#replies.write(catalogueDescription(columns, formats))
        })
    }
  }

  // ── Execute ───────────────────────────────────────────────────────────────────────────────────────────────────────

  run(portal: RowsPortal, maxRows: number, delivery: Delivery): Later {
    if (portal.execution !== undefined) return this.#resume(portal, portal.execution, maxRows, delivery)
    this.#runner.admit(isCounted(portal.prepared))
    if (portal.kind === 'catalogue') return this.#runCatalogue(portal, maxRows, delivery)
    const { statement } = portal.bound.planned.bound
    if (!reads(statement)) return this.#write(portal, maxRows, delivery)
    const pending = this.writePending()
    return pending === undefined
      ? this.#read(portal, maxRows, delivery)
      : pending.then(() => this.#read(portal, maxRows, delivery))
  }

  #read(portal: IqlPortal, maxRows: number, delivery: Delivery): Later {
    const { bound, prepared } = portal
    this.#block.requireReadable(bound.planned.bound.tables)
    const execution = this.#runner.begin(prepared.text)
    portal.execution = execution
    try {
      const call = this.#runner.callOf(bound, execution.requestId, bound.encoding)
      const small = this.#runner.readNow(call)
      if (small === undefined) return this.#runLater(portal, execution, maxRows, delivery)
      if (delivery.isDescribed) this.#sendDescription(portal)
      execution.rowCount = small.rowCount
      if (delivery.command !== undefined || (maxRows > 0 && small.rowCount >= maxRows)) {
        this.#runner.hold(execution, new PortalRows(small.bytes, undefined))
        return this.#send(portal, execution, maxRows, delivery)
      }
      if (small.bytes.length > 0) this.#replies.write(small.bytes)
      this.#complete(execution, tagOf(call.planned.bound.statement, small.rowCount), small.rowCount)
      return undefined
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
  }

  #sendDescription(portal: RowsPortal): void {
    const description =
      portal.kind === 'iql'
        ? portal.prepared.describe(portal.bound.formats)
        : catalogueDescription(portal.columns ?? [], portal.message.resultFormats)
    if (description !== undefined) this.#replies.write(description)
  }

  async #runLater(portal: IqlPortal, execution: Execution, maxRows: number, delivery: Delivery): Promise<void> {
    const { bound } = portal
    try {
      const call = this.#runner.callOf(bound, execution.requestId, bound.encoding)
      const affected = await this.#runner.start(call, execution)
      execution.affected = affected
      if (delivery.isDescribed) this.#sendDescription(portal)
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
    await this.#send(portal, execution, maxRows, delivery)
  }

  #resume(portal: RowsPortal, execution: Execution, maxRows: number, delivery: Delivery): Later {
    if (delivery.isDescribed) this.#sendDescription(portal)
    if (execution.hasEnded) {
      // A portal that has returned its rows returns no more.
      this.#replies.write(commandComplete(`${delivery.command ?? 'SELECT'} 0`))
      return undefined
    }
    this.#runner.resume(execution, portal.kind === 'iql' ? portal.bound : undefined)
    return this.#send(portal, execution, maxRows, delivery)
  }

  async #send(portal: RowsPortal, execution: Execution, maxRows: number, { command }: Delivery): Promise<void> {
    try {
      const output = command === 'MOVE' ? NOWHERE : this.#replies
      const count = await this.#runner.send(execution, maxRows, output)
      execution.sent += count
      if (maxRows > 0 && count === maxRows) {
        this.#runner.suspend(execution)
        this.#replies.write(command === undefined ? PORTAL_SUSPENDED : commandComplete(`${command} ${count}`))
        return
      }
      const tag =
        portal.kind === 'catalogue' || command !== undefined
          ? `${command ?? 'SELECT'} ${count}`
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

  async #runCatalogue(portal: CataloguePortal, maxRows: number, delivery: Delivery): Promise<void> {
    await this.writePending()
    const execution = this.#runner.begin(portal.prepared.text)
    portal.execution = execution
    try {
      const { columns, rows } = await this.#catalogue.run(portal.prepared, portal.message, execution)
      this.#count(portal, COLUMN_BYTES * columns.length)
      portal.columns = columns
      if (delivery.isDescribed) this.#sendDescription(portal)
      execution.rowCount = rows
    } catch (error) {
      this.#runner.finish(execution, outcomeOf(error), 0)
      throw error
    }
    await this.#send(portal, execution, maxRows, delivery)
  }

  // ── Writes ────────────────────────────────────────────────────────────────────────────────────────────────────────

  #write(portal: IqlPortal, maxRows: number, delivery: Delivery): Later {
    const { bound } = portal
    this.#runner.requireWritable()
    const mayKeep = isKeepable(bound)
    if (this.#block.isOpen && mayKeep) {
      const { copy } = this.#block
      if (copy === undefined) return this.#keep(bound)
      const env = { env: this.#env, caller: this.#caller, block: this.#block, runner: this.#runner }
      return spreadForStatement(copy, portal.prepared.text, env).then(() => this.#keep(bound))
    }
    this.#runner.requireOutsideBlock(bound)
    if (mayKeep && !delivery.isDescribed) {
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
      return this.#runLater(portal, execution, maxRows, delivery)
    }
    return this.writePending()?.then(run) ?? run()
  }

  /** In a block. */
  #keep(bound: BoundPortal): undefined {
    this.#replies.write(commandComplete(`INSERT 0 ${this.#runner.keep(bound, this.#block.kept)}`))
    return undefined
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

function isHeld(portal: Portal): boolean {
  return (portal.kind === 'iql' || portal.kind === 'catalogue') && portal.cursor?.isHeld === true
}

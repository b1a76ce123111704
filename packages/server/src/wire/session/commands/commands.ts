/** Runs the commands of a session: transactions, settings, prepared statements and COPY. */
import { type ResultColumn, TEXT } from 'gatehouse-iql'
import type { Format, FrontendMessage } from '../../protocol/messages.ts'
import { commandComplete, dataRow, noticeResponse, rowDescription } from '../../protocol/replies.ts'
import type { CopyCommand } from '../copy/copy-command.ts'
import { CopyIn, type CopyInEnv, insertKept } from '../copy/copy-in.ts'
import { WireError } from '../failure.ts'
import type { CommandColumns, CommandPortal } from '../portal/portal.ts'
import type { Portals } from '../portal/portals.ts'
import type { Replies } from '../replies.ts'
import type { Runner } from '../runner.ts'
import { columnFields } from '../statement/iql-statement.ts'
import {
  type CommandStatement,
  isCounted,
  type Prepared,
  type PreparedStatements,
} from '../statement/prepared-statement.ts'
import type { Block } from '../transaction/block.ts'
import type { Command, TransactionModes } from './command.ts'
import type { NamedCommands } from './named-commands.ts'
import type { Settings } from './settings.ts'

export interface CommandsEnv {
  readonly settings: Settings
  readonly block: Block
  readonly replies: Replies
  readonly runner: Runner
  readonly portals: Portals
  readonly statements: PreparedStatements
  readonly named: NamedCommands
  readonly copyIn: CopyInEnv
  readonly copyOut: (command: CopyCommand, sent: CommandStatement['sent']) => Promise<void>
}

type Later = Promise<void> | undefined

export class Commands implements CommandColumns {
  readonly #env: CommandsEnv
  /** Set while the client sends rows. */
  #copyIn: { readonly copy: CopyIn; readonly protocol: 'simple' | 'extended' } | undefined

  constructor(env: CommandsEnv) {
    this.#env = env
  }

  describe({ command }: CommandStatement, formats: readonly Format[]): Buffer | undefined {
    const columns = this.#columnsOf(command)
    return columns.length === 0 ? undefined : rowDescription(columnFields(columns, formats))
  }

  #columnsOf(command: Command): readonly ResultColumn[] {
    if (command.kind === 'show-all') return ['name', 'setting', 'description'].map(textColumn)
    return command.kind === 'show' ? [textColumn(this.#env.settings.nameOf(command.name))] : []
  }

  rowsOf(statement: CommandStatement): Prepared | undefined {
    return this.#env.named.rowsOf(statement)
  }

  run(portal: CommandPortal, maxRows: number, protocol: 'simple' | 'extended'): Later {
    const { block, settings, runner, named, portals } = this.#env
    const { prepared } = portal
    const { command } = prepared
    // The statement that it executes is counted.
    if (command.kind !== 'execute') runner.admit(isCounted(prepared))
    switch (command.kind) {
      case 'begin':
        return this.#begin(command.tag, command.modes)
      case 'commit':
        return this.#commit(command.isChained)
      case 'rollback':
        return this.#rollback(command.isChained)
      case 'rollback-to':
        portals.closeAfter(block.rollbackTo(command.name))
        return this.#done('ROLLBACK')
    }
    block.requireUsable()
    switch (command.kind) {
      case 'savepoint':
        block.savepoint(command.name, portals.created)
        return this.#done('SAVEPOINT')
      case 'release':
        block.release(command.name)
        return this.#done('RELEASE')
      case 'set':
        this.#set(command.name, command.value, command.isLocal)
        return this.#done('SET')
      case 'set-transaction':
        this.#setTransaction(command.modes, command.isSession)
        return this.#done('SET')
      case 'show':
      case 'show-all':
        return this.#show(prepared, protocol)
      case 'reset':
        if (command.name === undefined) settings.resetAll()
        else settings.set(command.name, undefined, false)
        return this.#done('RESET')
      case 'discard':
        return this.#discard(command.what)
      case 'prepare':
      case 'execute':
      case 'deallocate':
      case 'declare':
      case 'fetch':
      case 'move':
      case 'close':
        return named.run(portal, command, maxRows, protocol)
      case 'nothing':
        return this.#done(command.tag)
      case 'copy':
        return this.#copy(command, prepared.sent, protocol)
    }
  }

  #done(tag: string): undefined {
    this.#env.replies.write(commandComplete(tag))
    return undefined
  }

  #warn(sqlstate: string, message: string): void {
    this.#env.replies.write(noticeResponse({ severity: 'WARNING', sqlstate, message }))
  }

  // ── Transactions ──────────────────────────────────────────────────────────────────────────────────────────────────

  #begin(tag: string, { readOnly }: TransactionModes): Later {
    const { block, settings } = this.#env
    block.requireUsable()
    if (block.isExplicit) this.#warn('25001', 'There is already a transaction in progress')
    else {
      if (!block.isOpen) settings.beginBlock()
      block.begin('explicit', readOnly ?? settings.get('default_transaction_read_only') === 'on')
    }
    return this.#done(tag)
  }

  /** The statements of one Query are a block. */
  beginImplicit(): void {
    const { block, settings } = this.#env
    settings.beginBlock()
    block.begin('implicit', settings.get('default_transaction_read_only') === 'on')
  }

  endImplicit(): Later {
    const { block } = this.#env
    return block.isOpen && !block.isExplicit ? this.#write() : undefined
  }

  #commit(isChained: boolean): Later {
    const { block } = this.#env
    if (block.hasFailed) return this.#rollback(isChained)
    if (!block.isExplicit) this.#warn('25P01', 'There is no transaction in progress')
    const isReadOnly = block.isReadOnly
    const written = this.#write()
    const after = (): undefined => {
      if (isChained) this.#chain(isReadOnly)
      return this.#done('COMMIT')
    }
    return written === undefined ? after() : written.then(after)
  }

  /** All rows that were kept, or none. */
  #write(): Later {
    const { block, runner, settings, portals } = this.#env
    const { inserts, copy } = block.end()
    portals.closeUnheld()
    if (copy !== undefined) return this.#written(insertKept(copy, this.#env.copyIn))
    if (inserts.inserts.length === 0) {
      portals.commit()
      settings.endBlock(true)
      return undefined
    }
    return this.#written(runner.writeKept(inserts))
  }

  #written(written: Promise<unknown>): Promise<void> {
    const { settings, portals } = this.#env
    return written.then(
      () => {
        portals.commit()
        settings.endBlock(true)
      },
      (error) => {
        settings.endBlock(false)
        throw error
      },
    )
  }

  #rollback(isChained: boolean): Later {
    const { block, settings, portals } = this.#env
    if (!block.isExplicit) this.#warn('25P01', 'There is no transaction in progress')
    const isReadOnly = block.isReadOnly
    block.drop()
    portals.abort()
    settings.endBlock(false)
    if (isChained) this.#chain(isReadOnly)
    return this.#done('ROLLBACK')
  }

  #chain(isReadOnly: boolean): void {
    this.#env.settings.beginBlock()
    this.#env.block.begin('explicit', isReadOnly)
  }

  /** An error ends an implicit block, and makes an explicit one fail. */
  failed(): void {
    const { block, settings, portals } = this.#env
    portals.abort()
    if (block.isExplicit) block.fail()
    else if (block.isOpen) {
      block.drop()
      settings.endBlock(false)
    }
  }

  #setTransaction({ readOnly }: TransactionModes, isSession: boolean): void {
    const { block, settings } = this.#env
    if (readOnly === undefined) return
    if (isSession) settings.set('default_transaction_read_only', readOnly ? 'on' : 'off', false)
    else if (block.isOpen) block.isReadOnly = readOnly
    else this.#warn('25P01', 'SET TRANSACTION can only be used in transaction blocks')
  }

  // ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #set(name: string, value: string | undefined, isLocal: boolean): void {
    const { block, settings } = this.#env
    settings.set(name, value, isLocal)
    if (name.toLowerCase() === 'transaction_read_only' && block.isOpen)
      block.isReadOnly = settings.get('transaction_read_only') === 'on'
  }

  #show(prepared: CommandStatement, protocol: 'simple' | 'extended'): Later {
    const { settings, replies } = this.#env
    const { command } = prepared
    if (protocol === 'simple') replies.write(this.describe(prepared, []) ?? NOTHING)
    if (command.kind === 'show-all')
      for (const { name, value, about } of settings.all()) replies.write(dataRow([name, value, about]))
    else if (command.kind === 'show') replies.write(dataRow([shown(command.name, settings.get(command.name))]))
    return this.#done('SHOW')
  }

  #discard(what: 'all' | 'plans' | 'sequences' | 'temp'): Later {
    const { block, settings, portals, statements } = this.#env
    if (what === 'all') {
      if (block.isOpen) throw new WireError('25001', 'DISCARD ALL cannot run inside a transaction block')
      portals.closeAll()
      statements.clear()
      settings.resetAll()
    }
    return this.#done(`DISCARD ${what.toUpperCase()}`)
  }

  // ── COPY ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #copy(command: CopyCommand, sent: CommandStatement['sent'], protocol: 'simple' | 'extended'): Later {
    if (command.direction === 'to') return this.#env.copyOut(command, sent)
    this.#copyIn = { copy: new CopyIn(command, this.#env.copyIn), protocol }
    return undefined
  }

  /** Whether the client sends the rows of a COPY. */
  get isCopying(): boolean {
    return this.#copyIn !== undefined
  }

  /** A message while the client sends rows; true when it was the last of them. */
  copyMessage(message: FrontendMessage): Promise<boolean> | undefined {
    const copying = this.#copyIn
    if (copying === undefined) return undefined
    switch (message.kind) {
      case 'copyData':
        return copying.copy.push(message.bytes)?.then(() => false)
      case 'copyDone':
        return copying.copy.end().then(() => {
          this.#copyIn = undefined
          return true
        })
      case 'sync':
      case 'flush':
        // They may have been sent before the client knew that it has to send rows.
        return undefined
      case 'copyFail':
        throw new WireError('57014', `COPY from stdin failed: ${message.reason}`)
      default:
        throw new WireError('08P01', `The message ${message.kind} is not part of COPY`)
    }
  }

  /** Ends a COPY after an error; the protocol in which it began, if there was one. */
  abortCopy(): 'simple' | 'extended' | undefined {
    const copying = this.#copyIn
    this.#copyIn = undefined
    copying?.copy.abort(new WireError('57014', 'COPY was ended'))
    return copying?.protocol
  }

  /** A CancelRequest. */
  cancelCopy(error: Error): void {
    this.#copyIn?.copy.cancel(error)
  }

  /** The connection ends. */
  end(): void {
    this.abortCopy()
  }
}

const NOTHING = new Uint8Array(0)

function textColumn(name: string): ResultColumn {
  return { name, type: TEXT, nullable: false }
}

/** Durations have a unit in SHOW. */
function shown(name: string, value: string): string {
  if (!name.toLowerCase().endsWith('_timeout') || value === '0') return value
  const milliseconds = Number(value)
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000}s` : `${milliseconds}ms`
}

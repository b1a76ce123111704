/** Runs the commands of a session: transactions, settings, prepared statements, cursors and COPY. */
import { commandComplete, dataRow, noticeResponse } from '../../protocol/replies.ts'
import type { Later, SessionCaller, SessionEnv } from '../contract.ts'
import type { CopyCommand } from '../copy/copy-command.ts'
import { insertDeferred } from '../copy/copy-in.ts'
import { copyOut } from '../copy/copy-out.ts'
import { describeCommand } from '../describe.ts'
import { WireError } from '../failure.ts'
import type { CommandPortal, Protocol } from '../portal/portal.ts'
import type { Portals } from '../portal/portals.ts'
import type { Replies } from '../replies.ts'
import type { Runner } from '../runner.ts'
import { type PreparedStatements, takeCounted } from '../statement/prepared-statement.ts'
import type { TransactionBlock } from '../transaction/block.ts'
import type { Command, TransactionModes } from './command.ts'
import type { NamedCommands } from './named-commands.ts'
import type { Settings } from './settings.ts'

export interface CommandsEnv {
  readonly env: SessionEnv
  readonly caller: SessionCaller
  readonly settings: Settings
  readonly block: TransactionBlock
  readonly replies: Replies
  readonly runner: Runner
  readonly portals: Portals
  readonly statements: PreparedStatements
  readonly named: NamedCommands
  /** The client sends the rows of a COPY from now on. */
  readonly beginCopyIn: (command: CopyCommand, protocol: Protocol) => void
}

export class Commands {
  readonly #env: CommandsEnv

  constructor(env: CommandsEnv) {
    this.#env = env
  }

  run(portal: CommandPortal, maxRows: number, protocol: Protocol): Later {
    const { block, settings, runner, named, portals } = this.#env
    const { prepared } = portal
    const { command } = prepared
    // The statement that it executes is counted.
    if (command.kind !== 'execute') runner.admit(takeCounted(prepared))
    switch (command.kind) {
      case 'begin':
        return this.#begin(command.tag, command.modes)
      case 'commit':
        return this.#commit(command.isChained)
      case 'rollback':
        return this.#rollback(command.isChained)
      case 'rollback-to':
        portals.rollbackTo(block.rollbackTo(command.name))
        return this.#done('ROLLBACK')
    }
    block.requireUsable()
    switch (command.kind) {
      case 'savepoint':
        block.savepoint(command.name, portals.created)
        return this.#done('SAVEPOINT')
      case 'release':
        block.releaseSavepoint(command.name)
        return this.#done('RELEASE')
      case 'set':
        settings.set(command.name, command.value, command.isLocal)
        if (command.name.toLowerCase() === 'transaction_read_only')
          block.setReadOnly(settings.get('transaction_read_only') === 'on')
        return this.#done('SET')
      case 'set-transaction':
        this.#setTransaction(command.modes, command.isSession)
        return this.#done('SET')
      case 'show':
      case 'show-all':
        return this.#show(command, protocol)
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
        if (command.direction === 'to') return copyOut(command, prepared.sent, this.#env)
        this.#env.beginCopyIn(command, protocol)
        return undefined
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
    const { block } = this.#env
    block.requireUsable()
    if (block.isExplicit) this.#warn('25001', 'There is already a transaction in progress')
    else block.begin('explicit', readOnly)
    return this.#done(tag)
  }

  #commit(isChained: boolean): Later {
    const { block } = this.#env
    if (block.hasFailed) return this.#rollback(isChained)
    if (!block.isExplicit) this.#warn('25P01', 'There is no transaction in progress')
    const { isReadOnly } = block
    const written = this.#write()
    const after = (): undefined => {
      if (isChained) block.begin('explicit', isReadOnly)
      return this.#done('COMMIT')
    }
    return written === undefined ? after() : written.then(after)
  }

  /** At the end of a Query, whose statements are a block. */
  endImplicit(): Later {
    const { block } = this.#env
    return block.isOpen && !block.isExplicit ? this.#write() : undefined
  }

  /** Ends the block: all of its rows are written, or none. */
  #write(): Later {
    const { block, runner, portals } = this.#env
    const { inserts, copy } = block.end()
    portals.closeWithTransaction()
    if (copy === undefined && inserts.count === 0) {
      portals.commit()
      block.settle(true)
      return undefined
    }
    const written = copy === undefined ? inserts.write(runner) : insertDeferred(copy, this.#env)
    return written.then(
      () => {
        portals.commit()
        block.settle(true)
      },
      (error) => {
        block.settle(false)
        throw error
      },
    )
  }

  #rollback(isChained: boolean): Later {
    const { block, portals } = this.#env
    if (!block.isExplicit) this.#warn('25P01', 'There is no transaction in progress')
    const { isReadOnly } = block
    portals.rollback()
    block.rollback()
    if (isChained) block.begin('explicit', isReadOnly)
    return this.#done('ROLLBACK')
  }

  #setTransaction({ readOnly }: TransactionModes, isSession: boolean): void {
    const { block, settings } = this.#env
    if (readOnly === undefined) return
    if (isSession) settings.set('default_transaction_read_only', readOnly ? 'on' : 'off', false)
    else if (block.isOpen) block.setReadOnly(readOnly)
    else this.#warn('25P01', 'SET TRANSACTION can only be used in transaction blocks')
  }

  // ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────────────

  #show(command: Extract<Command, { kind: 'show' | 'show-all' }>, protocol: Protocol): Later {
    const { settings, replies } = this.#env
    if (protocol === 'simple') replies.write(describeCommand(command, [], settings) ?? NOTHING)
    if (command.kind === 'show') replies.write(dataRow([shown(command.name, settings.get(command.name))]))
    else for (const { name, value, about } of settings.all()) replies.write(dataRow([name, value, about]))
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
}

const NOTHING = new Uint8Array(0)

/** Durations have a unit in SHOW. */
function shown(name: string, value: string): string {
  if (!name.toLowerCase().endsWith('_timeout') || value === '0') return value
  const milliseconds = Number(value)
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000}s` : `${milliseconds}ms`
}

/** Runs PREPARE, EXECUTE and DEALLOCATE on prepared statements, and DECLARE, FETCH, MOVE and CLOSE on cursors, which are portals. */
import { commandComplete } from '../../protocol/replies.ts'
import type { Later, RowOutput } from '../contract.ts'
import { type SentText, WireError } from '../failure.ts'
import { type CommandPortal, type Protocol, type RowsPortal, UNBOUND } from '../portal/portal.ts'
import { type PortalRunEnv, runPortal } from '../portal/portal-run.ts'
import { IqlStatement } from '../statement/iql-statement.ts'
import {
  type CommandStatement,
  markCounted,
  onlyStatement,
  type Prepare,
  type Prepared,
  type PreparedStatements,
  takeCounted,
} from '../statement/prepared-statement.ts'
import type { NamedCommand } from './named-command.ts'
import type { TextPart } from './token-reader.ts'

export interface NamedCommandsEnv extends PortalRunEnv {
  readonly statements: PreparedStatements
  /** Parses and plans a statement that is a part of the text. */
  readonly prepare: Prepare
}

export class NamedCommands {
  readonly #env: NamedCommandsEnv

  constructor(env: NamedCommandsEnv) {
    this.#env = env
  }

  run(portal: CommandPortal, command: NamedCommand, maxRows: number, protocol: Protocol): Later {
    const { sent } = portal.prepared
    switch (command.kind) {
      case 'prepare':
        this.#env.statements.add(command.name, this.#prepare(command.statement, sent, command.types))
        return this.#done('PREPARE')
      case 'execute':
        return this.#execute(portal, command, maxRows, protocol)
      case 'deallocate':
        return this.#deallocate(command.name)
      case 'declare':
        this.#declare(portal, command)
        return this.#done('DECLARE CURSOR')
      case 'fetch':
      case 'move':
        return this.#fetch(portal, command, maxRows, protocol)
      case 'close':
        return this.#close(command.name)
    }
  }

  #done(tag: string): undefined {
    this.#env.replies.write(commandComplete(tag))
    return undefined
  }

  // ── Prepared statements ───────────────────────────────────────────────────────────────────────────────────────────

  #prepare({ text, offset }: TextPart, sent: SentText, types: readonly number[]): Exclude<Prepared, CommandStatement> {
    const prepared = this.#env.prepare(onlyStatement(text), { text: sent.text, offset: sent.offset + offset }, types)
    if (prepared.kind === 'iql' || prepared.kind === 'catalogue') return prepared
    throw new WireError('42601', 'Only SELECT, INSERT, UPDATE and DELETE can stand here', undefined, offset)
  }

  async #execute(
    portal: CommandPortal,
    { name, values: written }: Extract<NamedCommand, { kind: 'execute' }>,
    maxRows: number,
    protocol: Protocol,
  ): Promise<void> {
    const { statements, portals, runner } = this.#env
    if (portal.executed === undefined) {
      const prepared = statements.get(name)
      if (prepared === undefined) throw new WireError('26000', `There is no prepared statement ${JSON.stringify(name)}`)
      if (prepared.kind === 'empty' || prepared.kind === 'command')
        throw new WireError('0A000', `EXECUTE cannot run ${JSON.stringify(name)}`, 'Send its statement itself')
      const values = written === undefined ? [] : await this.#values(written, portal.prepared.sent)
      runner.sent = undefined
      refuseOtherCount(name, prepared, values.length)
      const bound = portals.bind(prepared, { ...UNBOUND, values, resultFormats: portal.formats })
      if (bound.kind === 'iql' || bound.kind === 'catalogue') portal.executed = bound
      if (takeCounted(portal.prepared)) markCounted(prepared)
    }
    if (portal.executed !== undefined)
      await runPortal(portal.executed, maxRows, { isDescribed: protocol === 'simple' }, this.#env)
  }

  /** The values of expressions without tables, as text. */
  async #values(written: TextPart, sent: SentText): Promise<(Buffer | null)[]> {
    const { runner } = this.#env
    const text = `SELECT ${written.text}`
    const placed = { text: sent.text, offset: sent.offset + written.offset - 'SELECT '.length }
    runner.sent = placed
    const statement = new IqlStatement(text, placed, [], runner.planning)
    const bound = statement.bind(UNBOUND, runner.planning)
    if (bound.planned.bound.tables.length > 0)
      throw new WireError('0A000', 'The values of EXECUTE are expressions without tables', 'Read them first')
    const execution = await runner.execute(bound, text)
    try {
      const row: Uint8Array[] = []
      await execution.send(1, collectInto(row))
      return readValues(Buffer.concat(row))
    } catch (error) {
      execution.fail(error)
      throw error
    } finally {
      execution.succeed(1)
    }
  }

  #deallocate(name: string | undefined): Later {
    const { statements } = this.#env
    if (name === undefined) {
      statements.clear()
      return this.#done('DEALLOCATE ALL')
    }
    if (!statements.delete(name)) throw new WireError('26000', `There is no prepared statement ${JSON.stringify(name)}`)
    return this.#done('DEALLOCATE')
  }

  // ── Cursors ───────────────────────────────────────────────────────────────────────────────────────────────────────

  #declare({ declared }: CommandPortal, command: Extract<NamedCommand, { kind: 'declare' }>): void {
    const { block, portals } = this.#env
    const { name, isBinary, isHoldable } = command
    if (!block.isOpen && !isHoldable)
      throw new WireError(
        '25P01',
        'DECLARE CURSOR can only be used in transaction blocks',
        'Send BEGIN first, or declare the cursor WITH HOLD',
      )
    if (declared !== undefined) portals.add(name, { ...declared, cursor: { isBinary, isHoldable } })
  }

  #fetch(
    { formats }: CommandPortal,
    { kind, name, rows }: Extract<NamedCommand, { kind: 'fetch' | 'move' }>,
    maxRows: number,
    protocol: Protocol,
  ): Later {
    const { portals } = this.#env
    const portal = portals.find(name)
    if (portal === undefined) throw new WireError('34000', `There is no cursor ${JSON.stringify(name)}`)
    if (maxRows > 0) throw new WireError('0A000', 'FETCH has its own number of rows', 'Execute it without a row limit')
    if (kind === 'move') return runPortal(portal, rows, { isDescribed: false, command: 'MOVE' }, this.#env)
    chooseFormats(portal, protocol === 'simple' ? undefined : formats)
    return runPortal(portal, rows, { isDescribed: protocol === 'simple', command: 'FETCH' }, this.#env)
  }

  #close(name: string | undefined): Later {
    const { portals } = this.#env
    if (name === undefined) {
      portals.closeAll()
      return this.#done('CLOSE CURSOR ALL')
    }
    if (portals.find(name) === undefined) throw new WireError('34000', `There is no cursor ${JSON.stringify(name)}`)
    portals.close(name)
    return this.#done('CLOSE CURSOR')
  }
}

/** Rows are encoded while they are read, so that all of a cursor's have the formats of its first FETCH. Undefined: those of its declaration. */
function chooseFormats(portal: RowsPortal, asked: CommandPortal['formats'] | undefined): void {
  const { cursor } = portal
  const formats = asked ?? (cursor?.isBinary ? [1] : [])
  const current = portal.kind === 'iql' ? portal.bound.formats : portal.message.resultFormats
  if (cursor !== undefined && portal.execution === undefined) {
    if (portal.kind === 'iql') portal.bound = { ...portal.bound, ...portal.prepared.form(formats) }
    else portal.message = { ...portal.message, resultFormats: formats }
  } else if (asked !== undefined && !areEqual(formats, current))
    throw new WireError(
      '0A000',
      'The rows of the cursor are already read in another format',
      'Fetch all of its rows as text, or all as binary',
    )
}

function areEqual(a: CommandPortal['formats'], b: CommandPortal['formats']): boolean {
  const isText = (formats: CommandPortal['formats']): boolean => !formats.includes(1)
  return (isText(a) && isText(b)) || (a.length === b.length && a.every((format, index) => format === b[index]))
}

function collectInto(bytes: Uint8Array[]): RowOutput {
  return {
    write: (part) => bytes.push(Buffer.from(part)) > 0,
    drained: async () => {},
    hasSentAll: () => false,
  }
}

/** Of a DataRow in text. */
function readValues(row: Uint8Array): (Buffer | null)[] {
  const bytes = Buffer.from(row)
  const values: (Buffer | null)[] = []
  const count = bytes.readUInt16BE(5)
  let at = 7
  for (let index = 0; index < count; index++) {
    const length = bytes.readInt32BE(at)
    at += 4
    values.push(length < 0 ? null : bytes.subarray(at, at + length))
    if (length > 0) at += length
  }
  return values
}

function refuseOtherCount(name: string, prepared: Prepared, values: number): void {
  if (prepared.kind !== 'iql') return
  const { length } = prepared.parameterTypes
  if (values === length) return
  const wanted = `${length} ${length === 1 ? 'parameter' : 'parameters'}`
  const given = `${values} ${values === 1 ? 'value' : 'values'}`
  throw new WireError(
    '42601',
    `The prepared statement ${JSON.stringify(name)} has ${wanted}, but EXECUTE gives ${given}`,
  )
}

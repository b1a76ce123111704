/** What Parse and Query make of a text: nothing, a command of the session, a statement on the catalogue, or a statement of IQL. */
import { Refusal } from 'gatehouse-protocol'
import type { Planning } from '../../../query/index.ts'
import { claimStatement } from '../../catalogue/claims.ts'
import type { CatalogueDescription } from '../../catalogue/contract.ts'
import type { ConnectionMemory } from '../../protocol/connection-memory.ts'
import { type Command, parseCommand } from '../commands/command.ts'
import { type SentText, WireError } from '../failure.ts'
import type { Runner } from '../runner.ts'
import { endsBlock, type TransactionBlock } from '../transaction/block.ts'
import { IqlStatement } from './iql-statement.ts'
import { type StatementText, splitStatements } from './split.ts'

export type Prepared = EmptyStatement | CommandStatement | CatalogueStatement | IqlStatement

interface EmptyStatement {
  readonly kind: 'empty'
  readonly sent: SentText
}

export interface CommandStatement {
  readonly kind: 'command'
  readonly command: Command
  readonly sent: SentText
  /** What DECLARE declares: it may have parameters. */
  readonly declared?: CatalogueStatement | IqlStatement
}

export interface CatalogueStatement {
  readonly kind: 'catalogue'
  readonly text: string
  readonly sent: SentText
  readonly declared: readonly number[]
  /** Once it was described, unless it is long. */
  description?: CatalogueDescription
}

/** Makes a prepared statement of one in a text; errors point into what the client sent. */
export type Prepare = (statement: StatementText | undefined, sent: SentText, declared: readonly number[]) => Prepared

export interface PrepareEnv {
  readonly runner: Runner
  readonly block: TransactionBlock
}

export function createPrepare({ runner, block }: PrepareEnv): Prepare {
  return (statement, sent, declared) => {
    if (statement === undefined) return { kind: 'empty', sent }
    const { text } = statement
    const placed = { text: sent.text, offset: sent.offset + statement.offset }
    runner.sent = placed
    // As in PostgreSQL, before tables and columns are looked up.
    if (block.hasFailed && !endsBlock(parseCommand(text))) block.requireUsable()
    try {
      return prepare(text, placed, declared, runner.planning)
    } catch (error) {
      // A caller who may not write gets that error, whatever else is wrong with the statement.
      const isBound = error instanceof Refusal && error.code !== 'IQL.Syntax'
      if (isBound && WRITE.test(text)) block.requireWritable()
      throw error
    }
  }
}

/** Of the text of Parse or PREPARE; undefined if it has none. */
export function onlyStatement(text: string): StatementText | undefined {
  const [only, another] = splitStatements(text)
  if (another !== undefined)
    throw new WireError('42601', 'A prepared statement is one statement', undefined, another.offset)
  return only
}

const WRITE = /^\s*(?:insert|update|delete|create|alter|drop)\b/i

function prepare(text: string, sent: SentText, declared: readonly number[], planning: Planning): Prepared {
  const command = parseCommand(text)
  if (command?.kind === 'declare') {
    const { statement } = command
    const placed = { text: sent.text, offset: sent.offset + statement.offset }
    const query = prepare(statement.text, placed, declared, planning)
    if (query.kind === 'catalogue' || (query.kind === 'iql' && query.isQuery))
      return { kind: 'command', command, sent, declared: query }
    throw new WireError('42601', 'A cursor reads the rows of a SELECT', undefined, statement.offset)
  }
  if (command !== undefined) return { kind: 'command', command, sent }
  switch (claimStatement(text)) {
    case 'yes':
      return { kind: 'catalogue', text, sent, declared }
    case 'mixed':
      throw new WireError(
        '0A000',
        'A statement cannot join the catalogue with other tables',
        'Read them in two statements',
      )
    case 'no':
      return new IqlStatement(text, sent, declared, planning)
  }
}

const counted = new WeakSet<Prepared>()

/** The statement was counted before it was parsed, as HTTP counts a request: its first run is not counted again. */
export function markCounted(prepared: Prepared): void {
  counted.add(prepared)
}

/** Whether this is the run that is counted already; the next one is not. */
export function takeCounted(prepared: Prepared): boolean {
  return counted.delete(prepared)
}

const MAX_STATEMENTS = 1000
/** Of a statement, besides its text. */
const STATEMENT_BYTES = 1000

/** The prepared statements of a session by name, counted. */
export class PreparedStatements {
  readonly #memory: ConnectionMemory
  readonly #statements = new Map<string, Prepared>()

  constructor(memory: ConnectionMemory) {
    this.#memory = memory
  }

  get(name: string): Prepared | undefined {
    return this.#statements.get(name)
  }

  /** Replaces the one without a name. */
  add(name: string, prepared: Prepared): void {
    if (name === '') this.delete('')
    else if (this.#statements.has(name))
      throw new WireError('42P05', `The prepared statement ${JSON.stringify(name)} exists`)
    else if (this.#statements.size >= MAX_STATEMENTS)
      throw new WireError(
        '54000',
        `A connection has at most ${MAX_STATEMENTS} prepared statements`,
        'Close or DEALLOCATE some',
      )
    this.#memory.take(statementBytes(name, prepared))
    this.#statements.set(name, prepared)
  }

  delete(name: string): boolean {
    const prepared = this.#statements.get(name)
    if (prepared === undefined) return false
    this.#memory.give(statementBytes(name, prepared))
    return this.#statements.delete(name)
  }

  clear(): void {
    for (const name of [...this.#statements.keys()]) this.delete(name)
  }
}

/** How many columns and parameters a description has that stays with its statement: each statement counts as if it had them. */
export const MOST_DESCRIBED = 50
/** Of a column or a parameter. */
const DESCRIBED_BYTES = 100

/** A text has one or two bytes for each unit, and what is known of the statement grows with it. */
function statementBytes(name: string, prepared: Prepared): number {
  return STATEMENT_BYTES + 2 * name.length + 4 * prepared.sent.text.length + partBytes(prepared)
}

function partBytes(prepared: Prepared): number {
  if (prepared.kind === 'iql') return prepared.size
  return prepared.kind === 'catalogue' ? 8 * prepared.declared.length + DESCRIBED_BYTES * MOST_DESCRIBED : 0
}

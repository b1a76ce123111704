/** What Parse and Query make of a text: nothing, a command of the session, a statement on the catalogue, or a statement of IQL. */
import type { Principal } from 'gatehouse-protocol'
import type { CatalogueDescription } from '../catalogue/contract.ts'
import type { ConnectionMemory } from '../protocol/kept-memory.ts'
import { type Command, parseCommand } from './command.ts'
import type { SessionEnv } from './env.ts'
import { type SentText, WireError } from './failure.ts'
import { IqlStatement } from './statement.ts'

export type Prepared = EmptyStatement | CommandStatement | CatalogueStatement | IqlStatement

interface EmptyStatement {
  readonly kind: 'empty'
  readonly sent: SentText
}

export interface CommandStatement {
  readonly kind: 'command'
  readonly command: Command
  readonly sent: SentText
}

export interface CatalogueStatement {
  readonly kind: 'catalogue'
  readonly text: string
  readonly sent: SentText
  readonly declared: readonly number[]
  /** Known once it was described. */
  description?: CatalogueDescription
}

export function prepare(
  text: string,
  sent: SentText,
  declared: readonly number[],
  principal: Principal,
  env: SessionEnv,
): Prepared {
  const command = parseCommand(text)
  if (command !== undefined) return { kind: 'command', command, sent }
  switch (env.systemCatalogue?.claims(text) ?? 'no') {
    case 'yes':
      return { kind: 'catalogue', text, sent, declared }
    case 'mixed':
      throw new WireError(
        '0A000',
        'A statement cannot join the catalogue with other tables',
        'Read them in two statements',
      )
    case 'no':
      return new IqlStatement(text, sent, declared, principal, env)
  }
}

/** Of a statement, besides its text. */
const STATEMENT_BYTES = 1000

/** The prepared statements of a session by name, counted. */
export class PreparedStatements {
  readonly #memory: ConnectionMemory
  readonly #statements = new Map<string, Prepared>()

  constructor(memory: ConnectionMemory) {
    this.#memory = memory
  }

  get size(): number {
    return this.#statements.size
  }

  get(name: string): Prepared | undefined {
    return this.#statements.get(name)
  }

  has(name: string): boolean {
    return this.#statements.has(name)
  }

  /** Replaces one of the same name. */
  set(name: string, prepared: Prepared): void {
    this.delete(name)
    this.#memory.take(bytesOf(name, prepared))
    this.#statements.set(name, prepared)
  }

  delete(name: string): boolean {
    const prepared = this.#statements.get(name)
    if (prepared === undefined) return false
    this.#memory.give(bytesOf(name, prepared))
    return this.#statements.delete(name)
  }

  clear(): void {
    for (const name of [...this.#statements.keys()]) this.delete(name)
  }
}

/** A text has one or two bytes for each unit, and what is known of the statement grows with it. */
function bytesOf(name: string, prepared: Prepared): number {
  return STATEMENT_BYTES + 2 * name.length + 4 * prepared.sent.text.length + partsOf(prepared)
}

function partsOf(prepared: Prepared): number {
  if (prepared.kind === 'iql') return prepared.size
  return prepared.kind === 'catalogue' ? 8 * prepared.declared.length : 0
}

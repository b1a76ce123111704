/** What Parse and Query make of a text: nothing, a command of the session, a statement on the catalogue, or a statement of IQL. */
import type { Principal } from 'gatehouse-protocol'
import type { CatalogueDescription } from '../catalogue/contract.ts'
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

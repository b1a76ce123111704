/** What a portal is: a bound statement, how far it has run, and how its rows are delivered. */
import type { CatalogueColumn } from '../catalogue/contract.ts'
import type { BindMessage, Format } from '../protocol/messages.ts'
import type { CatalogueStatement, CommandStatement, Prepared } from './prepared.ts'
import type { Execution } from './runner.ts'
import { type BoundPortal, type IqlStatement, sizeOf } from './statement.ts'

export interface IqlPortal {
  readonly kind: 'iql'
  readonly prepared: IqlStatement
  bound: BoundPortal
  /** Since the first Execute. */
  execution: Execution | undefined
  readonly cursor?: Cursor
}

export interface CataloguePortal {
  readonly kind: 'catalogue'
  readonly prepared: CatalogueStatement
  message: Pick<BindMessage, 'parameterFormats' | 'values' | 'resultFormats'>
  execution: Execution | undefined
  /** Known once it has run. */
  columns?: readonly CatalogueColumn[]
  readonly cursor?: Cursor
}

/** Of DECLARE: the first FETCH decides the formats of its columns. */
export interface Cursor {
  readonly isBinary: boolean
}

export interface CommandPortal {
  readonly kind: 'command'
  readonly prepared: CommandStatement
  readonly formats: readonly Format[]
  /** What DECLARE declares. */
  readonly declared?: RowsPortal | undefined
  /** What EXECUTE runs. */
  executed?: RowsPortal
}

/** A portal that can return rows. */
export type RowsPortal = IqlPortal | CataloguePortal

export type Portal = { readonly kind: 'empty'; readonly prepared: Prepared } | CommandPortal | RowsPortal

export interface Delivery {
  /** RowDescription precedes the rows, as in the simple protocol. */
  readonly isDescribed: boolean
  /** FETCH and MOVE complete with these tags, whether or not there are more rows; MOVE sends none. */
  readonly command?: 'FETCH' | 'MOVE'
}

/** The columns of commands. */
export interface CommandColumns {
  describe(statement: CommandStatement, formats: readonly Format[]): Buffer | undefined
  /** The statement whose rows EXECUTE or FETCH returns. */
  rowsOf(statement: CommandStatement): Prepared | undefined
}

export function executionOf(portal: Portal): Execution | undefined {
  if (portal.kind === 'empty') return undefined
  return portal.kind === 'command' ? portal.executed?.execution : portal.execution
}

/** The memory that it takes, besides its rows. EXECUTE has the values of its text. */
export function bytesOf(portal: Portal): number {
  switch (portal.kind) {
    case 'iql':
      return sizeOf(portal.bound)
    case 'catalogue':
      return portal.message.values.reduce((sum, value) => sum + (value?.length ?? 0), 2 * portal.prepared.text.length)
    case 'command':
      return 4 * portal.prepared.sent.text.length + (portal.declared === undefined ? 0 : bytesOf(portal.declared))
    case 'empty':
      return 2 * portal.prepared.sent.text.length
  }
}

/** A portal, or a statement of a Query, without values. */
export const UNBOUND: BindMessage = {
  kind: 'bind',
  portal: '',
  statement: '',
  parameterFormats: [],
  values: [],
  resultFormats: [],
}

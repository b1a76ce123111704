/** What a portal is: a bound statement, how far it has run, and how its rows are delivered. */
import type { CatalogueColumn } from '../../catalogue/contract.ts'
import type { BindMessage, Format } from '../../protocol/messages.ts'
import type { Execution } from '../execution.ts'
import type { BoundValues } from '../statement/catalogue-statement.ts'
import { type BoundPortal, boundSize, type IqlStatement, PLAN_TIMES } from '../statement/iql-statement.ts'
import type { CatalogueStatement, CommandStatement, Prepared } from '../statement/prepared-statement.ts'

/** Of a value, besides its bytes. */
const VALUE_BYTES = 120

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
  message: BoundValues
  execution: Execution | undefined
  /** Known once it has run. */
  columns?: readonly CatalogueColumn[]
  readonly cursor?: Cursor
}

/** Of DECLARE: the first FETCH decides the formats of its columns. */
export interface Cursor {
  readonly isBinary: boolean
  /** WITH HOLD: it goes on after its transaction has committed. */
  readonly isHoldable: boolean
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

/** Of Query, which describes rows before it sends them, or of Parse, Bind and Execute. */
export type Protocol = 'simple' | 'extended'

export interface Delivery {
  /** RowDescription precedes the rows, as in the simple protocol. */
  readonly isDescribed: boolean
  /** FETCH and MOVE complete with these tags, whether or not there are more rows; MOVE sends none. */
  readonly command?: 'FETCH' | 'MOVE'
}

export function portalExecution(portal: Portal): Execution | undefined {
  if (portal.kind === 'empty') return undefined
  return portal.kind === 'command' ? portal.executed?.execution : portal.execution
}

/** A cursor WITH HOLD. */
export function isHoldable(portal: Portal): boolean {
  return (portal.kind === 'iql' || portal.kind === 'catalogue') && portal.cursor?.isHoldable === true
}

/** The memory that it takes, besides its rows. EXECUTE has the values of its text. */
export function portalBytes(portal: Portal): number {
  switch (portal.kind) {
    case 'empty':
      return 2 * portal.prepared.sent.text.length
    case 'command': {
      const own = 4 * portal.prepared.sent.text.length + 8 * portal.formats.length
      return portal.declared === undefined ? own : own + portalBytes(portal.declared)
    }
    case 'iql':
      // With its plan.
      return boundSize(portal.bound) + PLAN_TIMES * portal.prepared.text.length
    case 'catalogue': {
      const { values, parameterFormats, resultFormats } = portal.message
      const own = 2 * portal.prepared.text.length + 8 * (parameterFormats.length + resultFormats.length)
      return values.reduce((sum, value) => sum + VALUE_BYTES + (value?.length ?? 0), own)
    }
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

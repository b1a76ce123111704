/** What the server and the process of the catalogue tell each other. Plain data. */
import { CatalogueError, type CatalogueFault } from '../catalogue-error.ts'
import type { CatalogueColumn } from '../contract.ts'

export type CatalogueJob =
  /** Some of the tables of a database, as JSON, which is quicker to write and read than other forms. There is no reply. */
  | { readonly kind: 'tables'; readonly key: string; readonly tables: string }
  /** There is no reply. */
  | { readonly kind: 'drop'; readonly key: string }
  | StatementJob

export interface StatementJob {
  readonly kind: 'run' | 'describe'
  /** Of the database. */
  readonly key: string
  readonly text: string
  readonly parameters: readonly (string | null)[]
  /** 0: not declared. */
  readonly types: readonly number[]
  readonly user: string
  /** Of its connection. */
  readonly processId: number
  /** What pg_cancel_backend returns, once the server has done it. */
  readonly cancelled: readonly (readonly [processId: number, wasFound: boolean])[]
}

/** The rows of a result come before it, in chunks. */
export interface StatementReply {
  readonly columns: readonly CatalogueColumn[]
  readonly parameters: readonly number[]
  /** The backends that the statement wants to cancel, which only the server can do. */
  readonly cancels: readonly number[]
}

export type RowChunk = readonly (readonly (string | null)[])[]

export type CatalogueFailure =
  | {
      readonly kind: 'refused'
      readonly fault: CatalogueFault
      readonly message: string
      readonly at: number | undefined
      readonly hint: string | undefined
    }
  | { readonly kind: 'bug'; readonly message: string; readonly stack: string | undefined }

export function describeFailure(error: unknown): CatalogueFailure {
  if (error instanceof CatalogueError) {
    const { fault, message, at, hint } = error
    return { kind: 'refused', fault, message, at, hint }
  }
  // The stack of the parser and of what walks its trees.
  if (error instanceof RangeError && /call stack/.test(error.message))
    return {
      kind: 'refused',
      fault: 'tooComplex',
      message: 'The statement is nested too deeply',
      at: undefined,
      hint: undefined,
    }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'bug', message, stack }
}

export function reviveFailure(failure: CatalogueFailure): Error {
  if (failure.kind === 'refused') return new CatalogueError(failure.fault, failure.message, failure.at, failure.hint)
  return Object.assign(new Error(failure.message), { stack: failure.stack })
}

/** Saved queries and boards: the documents under `/saved`. */

/** How a result is shown. */
export type View = 'table' | 'line' | 'bar' | 'scatter' | 'candles'

/** What is run, and how its result is shown. */
export interface SavedQuery {
  readonly description?: string
  /** One statement. */
  readonly statement: string
  /** Values by name, without the colon. */
  readonly parameters?: Readonly<Record<string, string | number | boolean | null>>
  readonly view?: View
  /** The column of the x axis. */
  readonly x?: string
  /** The columns that are drawn; for candles open, high, low, close, and the volume if there is one. */
  readonly y?: readonly string[]
  /** The column whose values split the rows into one line each. */
  readonly series?: string
  /** Of the values of a chart: linear unless it is log. */
  readonly scale?: 'linear' | 'log'
  /** The lengths of moving averages, in points. */
  readonly averages?: readonly number[]
  readonly live?: boolean
}

/** A chart or table of a board, on a grid of 12 columns. */
export interface Tile extends Omit<SavedQuery, 'description' | 'view'> {
  readonly title: string
  readonly view: View
  readonly position: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
}

/** Charts and tables on a grid. */
export interface Board {
  readonly description?: string
  readonly tiles: readonly Tile[]
}

/** A saved query or board, with its owner and who may read it. */
export type SavedDocument = Saved<'query', SavedQuery> | Saved<'board', Board>

interface Saved<Kind, Body> {
  readonly id: string
  readonly kind: Kind
  readonly name: string
  /** The subject of the owner's tokens. */
  readonly owner: string
  /** The owner's name; null if the owner no longer exists. */
  readonly username: string | null
  /** Who may read it besides the owner: no one, everyone who may query, or roles. */
  readonly shared: 'private' | 'everyone' | readonly string[]
  /** In quotes it is the ETag, for `ifMatch`. */
  readonly version: number
  readonly updated: string
  /** Not in lists. */
  readonly body?: Body
}

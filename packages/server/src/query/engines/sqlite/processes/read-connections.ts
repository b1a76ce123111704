/**
 * The connections of a reader process: for rows one of better-sqlite3, for pages one of Node's own SQLite. They are never open at the
 * same time (../read/page-database.ts), so that the one that is open is closed when a job needs the other.
 */
import type { Database } from 'better-sqlite3'
import { ExecutorMemory } from '../../../columns/executor-memory.ts'
import { KeptParts } from '../columns/kept-parts.ts'
import { OpenSegments } from '../columns/segment-files.ts'
import { findReadableSegments } from '../columns/segment-tables.ts'
import { openForReading, prepareLongReads } from '../connection.ts'
import { hasPages, openForPages, type PageDatabase } from '../read/page-database.ts'
import type { FindSegments, SegmentSource } from '../read/part-read.ts'
import { RowFeed } from '../read/row-feed.ts'
import { RowPages } from '../read/row-pages.ts'
import { StatementCache } from '../statement-cache.ts'

export interface RowConnection {
  readonly connection: Database
  readonly statements: StatementCache
  readonly feed: RowFeed
  readonly segments: SegmentSource
}

interface PageConnection {
  readonly database: PageDatabase['database']
  readonly pages: RowPages
}

export class ReadConnections {
  readonly #path: string
  readonly #segments: OpenSegments
  readonly #kept: KeptParts
  readonly #memory = new ExecutorMemory()
  #rows: RowConnection | undefined
  #pages: PageConnection | undefined

  constructor(path: string) {
    this.#path = path
    this.#segments = new OpenSegments(path)
    this.#kept = new KeptParts(path)
  }

  async forRows(): Promise<RowConnection> {
    if (this.#rows !== undefined) return this.#rows
    await this.close()
    const connection = openForReading(this.#path)
    prepareLongReads(connection)
    const statements = new StatementCache(connection, 50)
    this.#rows = {
      connection,
      statements,
      feed: new RowFeed(connection, statements),
      segments: { find: this.#findSegments(connection), kept: this.#kept, memory: this.#memory },
    }
    return this.#rows
  }

  /** Undefined if this Node.js returns no pages. */
  async forPages(): Promise<RowPages | undefined> {
    if (this.#pages !== undefined || !hasPages()) return this.#pages?.pages
    await this.close()
    const opened = openForPages(this.#path)
    if (opened !== undefined) this.#pages = { database: opened.database, pages: new RowPages(opened) }
    return this.#pages?.pages
  }

  #findSegments(connection: Database): FindSegments {
    return ({ name }) =>
      findReadableSegments(connection, name).map(({ first, last, tag, rows }) => ({
        rows: Number(rows),
        first,
        last,
        tag,
        open: () => this.#segments.get(tag),
      }))
  }

  async close(): Promise<void> {
    const [rows, pages] = [this.#rows, this.#pages]
    this.#rows = undefined
    this.#pages = undefined
    rows?.connection.close()
    pages?.database.close()
  }
}

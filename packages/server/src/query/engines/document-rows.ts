/** The rows of saved documents in the query database: what both engines share. */
import type { Bindable } from './emit/parameters.ts'

export interface DocumentRow {
  readonly id: string
  readonly kind: string
  readonly name: string
  /** The name as it is ordered and searched. */
  readonly sortname: string
  /** The subject of the owner's tokens. */
  readonly owner: string
  readonly shared: string
  readonly version: number
  /** Milliseconds since the epoch. */
  readonly updated: number
  /** JSON. */
  readonly body: string
}

export type ListedDocument = Omit<DocumentRow, 'body'>

/** A place in the order of documents: after the one with this name and id. */
export interface DocumentPlace {
  readonly sortname: string
  readonly id: string
}

export interface DocumentPage {
  /** Only documents that one of these readers may read. */
  readonly readers: readonly string[]
  readonly kind: string | undefined
  /** The beginning of the name, as it is ordered. */
  readonly prefix: string
  readonly after: DocumentPlace
  readonly limit: number
}

export interface DocumentRows {
  find(id: string): Promise<DocumentRow | undefined>
  list(page: DocumentPage): Promise<readonly ListedDocument[]>
  /** False if the id exists, or the first reader, the owner, has `most` documents already. */
  insert(row: DocumentRow, readers: readonly string[], most: number): Promise<boolean>
  /** False unless the stored row has this version. */
  update(row: DocumentRow, readers: readonly string[], version: number): Promise<boolean>
  /** False unless the stored row has this version. */
  remove(id: string, version: number): Promise<boolean>
  /** The readers after this one that begin with the prefix. */
  readersAfter(after: string, prefix: string, limit: number): Promise<readonly string[]>
  /** Removes the documents that these may read and that are shared in this way; returns how many. */
  removeOf(readers: readonly string[], shared: string): Promise<number>
}

export interface DocumentRowsOptions {
  readonly schema: string
  readonly placeholder: (position: number) => string
  readonly read: <Row>(sql: string, parameters: readonly Bindable[]) => Promise<readonly Row[]>
  /**
   * Runs the statements in one transaction, while no other node changes a document. If the first affects no row, the others
   * are not run. Returns the rows that the first affected.
   */
  readonly write: (statements: readonly DocumentStatement[]) => Promise<number>
}

export interface DocumentStatement {
  readonly sql: string
  readonly parameters: readonly Bindable[]
}

export const DOCUMENTS = '_gh_documents'
/** The readers of each document, in the order of lists: a page is a range of this table. */
export const DOCUMENT_READERS = '_gh_document_readers'

const LISTED = 'id, kind, name, sortname, owner, shared, version, updated'
/** SQLite has a limit of the parts of a UNION, and a user may have more roles. */
const READERS_AT_ONCE = 100
/** Sorts after every character that a name can have. */
const LAST = '\u{10ffff}'

export function createDocumentRows({ schema, placeholder, read, write }: DocumentRowsOptions): DocumentRows {
  const documents = `${schema}.${DOCUMENTS}`
  const readers = `${schema}.${DOCUMENT_READERS}`

  /** Collects parameters; each call returns the placeholder of its value. */
  function statement(build: (value: (value: Bindable) => string) => string): DocumentStatement {
    const parameters: Bindable[] = []
    const sql = build((value) => placeholder(parameters.push(value)))
    return { sql, parameters }
  }

  const run = async <Row>({ sql, parameters }: DocumentStatement): Promise<readonly Row[]> => read<Row>(sql, parameters)

  function insertReaders({ id, kind, sortname }: DocumentRow, names: readonly string[]): DocumentStatement {
    return statement((value) => {
      const rows = names.map((reader) => `(${value(reader)}, ${value(sortname)}, ${value(id)}, ${value(kind)})`)
      return `INSERT INTO ${readers} (reader, sortname, id, kind) VALUES ${rows.join(', ')}`
    })
  }

  /** The documents of each reader are a range of the index; a page has the first rows of all ranges. */
  function pageOf(names: readonly string[], { kind, prefix, after, limit }: Omit<DocumentPage, 'readers'>) {
    return statement((value) => {
      const parts = names.map((reader) => {
        const conditions = [
          `reader = ${value(reader)}`,
          ...(kind === undefined ? [] : [`kind = ${value(kind)}`]),
          `sortname >= ${value(prefix)} AND sortname < ${value(prefix + LAST)}`,
          `(sortname, id) > (${value(after.sortname)}, ${value(after.id)})`,
        ]
        return `SELECT id FROM (SELECT id FROM ${readers} WHERE ${conditions.join(' AND ')}
          ORDER BY sortname, id LIMIT ${value(limit)}) AS part`
      })
      return `SELECT ${LISTED} FROM ${documents} WHERE id IN (${parts.join(' UNION ')})
        ORDER BY sortname, id LIMIT ${value(limit)}`
    })
  }

  const deleteReaders = (id: string): DocumentStatement =>
    statement((value) => `DELETE FROM ${readers} WHERE id = ${value(id)}`)

  return {
    async find(id) {
      const rows = await run<DocumentRow>(
        statement((value) => `SELECT ${LISTED}, body FROM ${documents} WHERE id = ${value(id)}`),
      )
      return rows.map((row) => ({ ...row, ...numbersOf(row) }))[0]
    },

    async list({ readers: names, ...page }) {
      const found = new Map<string, ListedDocument>()
      for (let first = 0; first < names.length; first += READERS_AT_ONCE) {
        const rows = await run<ListedDocument>(pageOf(names.slice(first, first + READERS_AT_ONCE), page))
        for (const row of rows) found.set(row.id, { ...row, ...numbersOf(row) })
      }
      return [...found.values()].sort(byPlace).slice(0, page.limit)
    },

    async insert(row, names, most) {
      const { id, kind, name, sortname, owner, shared, version, updated, body } = row
      const insert = statement((value) => {
        const values = [id, kind, name, sortname, owner, shared, version, updated, body].map(value)
        return `INSERT INTO ${documents} (${LISTED}, body) SELECT ${values.join(', ')}
          WHERE NOT EXISTS (SELECT 1 FROM ${documents} WHERE id = ${value(id)})
          AND (SELECT count(*) FROM ${readers} WHERE reader = ${value(names[0] ?? '')}) < ${value(most)}`
      })
      return (await write([insert, insertReaders(row, names)])) > 0
    },

    async update(row, names, version) {
      const update = statement(
        (value) => `UPDATE ${documents} SET name = ${value(row.name)}, sortname = ${value(row.sortname)},
          owner = ${value(row.owner)}, shared = ${value(row.shared)}, version = ${value(row.version)},
          updated = ${value(row.updated)}, body = ${value(row.body)}
          WHERE id = ${value(row.id)} AND version = ${value(version)}`,
      )
      return (await write([update, deleteReaders(row.id), insertReaders(row, names)])) > 0
    },

    async remove(id, version) {
      const remove = statement(
        (value) => `DELETE FROM ${documents} WHERE id = ${value(id)} AND version = ${value(version)}`,
      )
      return (await write([remove, deleteReaders(id)])) > 0
    },

    async readersAfter(after, prefix, limit) {
      const rows = await run<{ reader: string }>(
        statement(
          (value) => `SELECT DISTINCT reader FROM ${readers} WHERE reader > ${value(after)}
            AND reader >= ${value(prefix)} AND reader < ${value(prefix + LAST)} ORDER BY reader LIMIT ${value(limit)}`,
        ),
      )
      return rows.map(({ reader }) => reader)
    },

    removeOf(names, shared) {
      const of = (value: (value: Bindable) => string): string => `reader IN (${names.map(value).join(', ')})`
      const remove = statement(
        (value) =>
          `DELETE FROM ${documents} WHERE id IN (SELECT id FROM ${readers} WHERE ${of(value)}) AND shared = ${value(shared)}`,
      )
      const removeReaders = statement(
        (value) => `DELETE FROM ${readers} WHERE ${of(value)}
          AND NOT EXISTS (SELECT 1 FROM ${documents} AS d WHERE d.id = ${DOCUMENT_READERS}.id)`,
      )
      return write([remove, removeReaders])
    },
  }
}

/** As both databases order texts: by code point. */
function byPlace(one: ListedDocument, other: ListedDocument): number {
  const key = ({ sortname, id }: ListedDocument) => Buffer.from(`${sortname}\0${id}`)
  return Buffer.compare(key(one), key(other))
}

/** PostgreSQL sends 64-bit integers as texts. */
function numbersOf({ version, updated }: ListedDocument): Pick<ListedDocument, 'version' | 'updated'> {
  return { version: Number(version), updated: Number(updated) }
}

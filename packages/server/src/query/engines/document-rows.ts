/** The rows of saved documents in the query database: what both engines share. */
import type { BuildSql, ServiceStore } from './service-store.ts'

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

export const DOCUMENTS = '_gh_documents'
/** The readers of each document, in the order of lists: a page is a range of this table. */
export const DOCUMENT_READERS = '_gh_document_readers'

const LISTED = 'id, kind, name, sortname, owner, shared, version, updated'
/** SQLite has a limit of the parts of a UNION, and a user may have more roles. */
const READERS_AT_ONCE = 100
/** Sorts after every character that a name can have. */
const LAST = '\u{10ffff}'

export class DocumentRows {
  readonly #store: ServiceStore
  readonly #documents: string
  readonly #readers: string

  constructor(store: ServiceStore) {
    this.#store = store
    this.#documents = `${store.schema}.${DOCUMENTS}`
    this.#readers = `${store.schema}.${DOCUMENT_READERS}`
  }

  async find(id: string): Promise<DocumentRow | undefined> {
    const [row] = await this.#store.read<DocumentRow>(
      (value) => `SELECT ${LISTED}, body FROM ${this.#documents} WHERE id = ${value(id)}`,
    )
    return row && { ...row, ...toNumbers(row) }
  }

  async list({ readers, ...page }: DocumentPage): Promise<readonly ListedDocument[]> {
    const found = new Map<string, ListedDocument>()
    for (let first = 0; first < readers.length; first += READERS_AT_ONCE) {
      const names = readers.slice(first, first + READERS_AT_ONCE)
      const rows = await this.#store.read<ListedDocument>((value) => this.#pageSql(names, page, value))
      for (const row of rows) found.set(row.id, { ...row, ...toNumbers(row) })
    }
    return [...found.values()].sort(byPlace).slice(0, page.limit)
  }

  /** The documents of each reader are a range of the index; a page has the first rows of all ranges. */
  #pageSql(
    names: readonly string[],
    { kind, prefix, after, limit }: Omit<DocumentPage, 'readers'>,
    value: Value,
  ): string {
    const parts = names.map((reader) => {
      const conditions = [
        `reader = ${value(reader)}`,
        ...(kind === undefined ? [] : [`kind = ${value(kind)}`]),
        `sortname >= ${value(prefix)} AND sortname < ${value(prefix + LAST)}`,
        `(sortname, id) > (${value(after.sortname)}, ${value(after.id)})`,
      ]
      return `SELECT id FROM (SELECT id FROM ${this.#readers} WHERE ${conditions.join(' AND ')}
        ORDER BY sortname, id LIMIT ${value(limit)}) AS part`
    })
    return `SELECT ${LISTED} FROM ${this.#documents} WHERE id IN (${parts.join(' UNION ')})
      ORDER BY sortname, id LIMIT ${value(limit)}`
  }

  /** False if the id exists, or the first reader, the owner, has `most` documents already. */
  async insert(row: DocumentRow, readers: readonly string[], most: number): Promise<boolean> {
    const { id, kind, name, sortname, owner, shared, version, updated, body } = row
    const inserted = await this.#write(
      (value) => {
        const values = [id, kind, name, sortname, owner, shared, version, updated, body].map(value)
        return `INSERT INTO ${this.#documents} (${LISTED}, body) SELECT ${values.join(', ')}
        WHERE NOT EXISTS (SELECT 1 FROM ${this.#documents} WHERE id = ${value(id)})
        AND (SELECT count(*) FROM ${this.#readers} WHERE reader = ${value(readers[0] ?? '')}) < ${value(most)}`
      },
      this.#insertReaders(row, readers),
    )
    return inserted > 0
  }

  /** False unless the stored row has this version. */
  async update(row: DocumentRow, readers: readonly string[], version: number): Promise<boolean> {
    const updated = await this.#write(
      (value) => `UPDATE ${this.#documents} SET name = ${value(row.name)}, sortname = ${value(row.sortname)},
        owner = ${value(row.owner)}, shared = ${value(row.shared)}, version = ${value(row.version)},
        updated = ${value(row.updated)}, body = ${value(row.body)}
        WHERE id = ${value(row.id)} AND version = ${value(version)}`,
      this.#deleteReaders(row.id),
      this.#insertReaders(row, readers),
    )
    return updated > 0
  }

  /** False unless the stored row has this version. */
  async remove(id: string, version: number): Promise<boolean> {
    const removed = await this.#write(
      (value) => `DELETE FROM ${this.#documents} WHERE id = ${value(id)} AND version = ${value(version)}`,
      this.#deleteReaders(id),
    )
    return removed > 0
  }

  /** The readers after this one that begin with the prefix. */
  async readersAfter(after: string, prefix: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#store.read<{ reader: string }>(
      (value) => `SELECT DISTINCT reader FROM ${this.#readers} WHERE reader > ${value(after)}
        AND reader >= ${value(prefix)} AND reader < ${value(prefix + LAST)} ORDER BY reader LIMIT ${value(limit)}`,
    )
    return rows.map(({ reader }) => reader)
  }

  /** Removes the documents that these may read and that are shared in this way; returns how many. */
  removeReadable(readers: readonly string[], shared: string): Promise<number> {
    const isReader = (value: Value): string => `reader IN (${readers.map(value).join(', ')})`
    return this.#write(
      (value) => `DELETE FROM ${this.#documents}
        WHERE id IN (SELECT id FROM ${this.#readers} WHERE ${isReader(value)}) AND shared = ${value(shared)}`,
      (value) => `DELETE FROM ${this.#readers} WHERE ${isReader(value)}
        AND NOT EXISTS (SELECT 1 FROM ${this.#documents} AS d WHERE d.id = ${DOCUMENT_READERS}.id)`,
    )
  }

  #insertReaders({ id, kind, sortname }: DocumentRow, names: readonly string[]): BuildSql {
    return (value) => {
      const rows = names.map((reader) => `(${value(reader)}, ${value(sortname)}, ${value(id)}, ${value(kind)})`)
      return `INSERT INTO ${this.#readers} (reader, sortname, id, kind) VALUES ${rows.join(', ')}`
    }
  }

  #deleteReaders(id: string): BuildSql {
    return (value) => `DELETE FROM ${this.#readers} WHERE id = ${value(id)}`
  }

  #write(...builds: readonly BuildSql[]): Promise<number> {
    return this.#store.write(builds, this.#documents)
  }
}

type Value = Parameters<BuildSql>[0]

/** As both databases order texts: by code point. */
function byPlace(one: ListedDocument, other: ListedDocument): number {
  const key = ({ sortname, id }: ListedDocument) => Buffer.from(`${sortname}\0${id}`)
  return Buffer.compare(key(one), key(other))
}

/** PostgreSQL sends 64-bit integers as texts. */
function toNumbers({ version, updated }: ListedDocument): Pick<ListedDocument, 'version' | 'updated'> {
  return { version: Number(version), updated: Number(updated) }
}

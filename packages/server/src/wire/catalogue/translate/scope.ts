/** What the names of a query mean: its tables with their columns, and those of the queries around it. */
import { CatalogueError } from '../catalogue-error.ts'
import { OID } from '../data/types.ts'
import type { WindowSpec } from '../syntax/ast.ts'

export interface Column {
  readonly name: string
  readonly sql: string
  readonly type: number
  readonly modifier: number
  readonly fields?: ReadonlyMap<string, number> | undefined
  /** Not in `*`: a system column. */
  readonly isHidden?: boolean
  /** USING has merged it with a column of the left side, which unqualified names mean. */
  isMerged?: boolean
}

export interface Source {
  /** Its alias, or the name of its table. */
  readonly name: string
  readonly schema: string | undefined
  readonly columns: readonly Column[]
  /** A function with one column is also a value. */
  readonly isFunction?: boolean
}

export interface CteSource {
  readonly alias: string
  readonly columns: readonly Omit<Column, 'sql'>[]
}

export class Scope {
  readonly parent: Scope | undefined
  readonly sources: Source[] = []
  readonly ctes = new Map<string, CteSource>()
  /** The values that columns must have, by their SQL; see owners.ts. */
  known: ReadonlyMap<string, number> = new Map()
  windows: ReadonlyMap<string, WindowSpec> = new Map()
  /** Joins of the functions in the select list that return sets; undefined where none may be. */
  setJoins: string[] | undefined

  constructor(parent?: Scope) {
    this.parent = parent
  }

  findCte(name: string): CteSource | undefined {
    return this.ctes.get(name) ?? this.parent?.findCte(name)
  }

  /** What a column of this query, or of one around it, must equal. */
  knownValue(sql: string): number | undefined {
    return this.known.get(sql) ?? this.parent?.knownValue(sql)
  }

  findWindow(name: string): WindowSpec | undefined {
    return this.windows.get(name)
  }

  /** The column of a path: column, table.column or schema.table.column. */
  column(path: readonly string[], at: number): Column {
    const found = this.find(path, at)
    if (found !== undefined) return found
    const [name = '', table] = path.toReversed()
    if (table === undefined) throw new CatalogueError('unknownColumn', `column "${name}" does not exist`, at)
    if (this.source(table) === undefined)
      throw new CatalogueError('unknownTable', `missing FROM-clause entry for table "${table}"`, at)
    throw new CatalogueError('unknownColumn', `column ${table}.${name} does not exist`, at)
  }

  find(path: readonly string[], at: number): Column | undefined {
    const [name = '', table] = path.toReversed()
    const found = table === undefined ? this.#unqualified(name, at) : findColumn(this.#own(table), name)
    if (found !== undefined) return found
    if (table !== undefined && this.#own(table) !== undefined) return undefined
    return this.parent?.find(path, at)
  }

  source(name: string): Source | undefined {
    return this.#own(name) ?? this.parent?.source(name)
  }

  #own(name: string): Source | undefined {
    return this.sources.find((source) => source.name === name)
  }

  #unqualified(name: string, at: number): Column | undefined {
    const found = this.sources.flatMap(({ columns }) =>
      columns.filter((column) => column.name === name && !column.isMerged),
    )
    const visible = found.filter(({ isHidden }) => isHidden !== true)
    if (visible.length > 1) throw new CatalogueError('ambiguousColumn', `column reference "${name}" is ambiguous`, at)
    return visible[0] ?? found[0] ?? this.#functionValue(name)
  }

  /** `SELECT s FROM generate_series(1, 3) s` */
  #functionValue(name: string): Column | undefined {
    const source = this.#own(name)
    if (source === undefined) return undefined
    const [only] = source.columns
    if (source.isFunction === true && source.columns.length === 1) return only
    // A whole row as a value, as in count(t).
    const items = source.columns.filter(({ isHidden }) => isHidden !== true)
    const members = items.map((column) => `'${column.name.replaceAll("'", "''")}', ${column.sql}`)
    const fields = new Map(items.map((column) => [column.name, column.type]))
    return { name, sql: `json_object(${members.join(', ')})`, type: OID.record, modifier: -1, fields }
  }
}

function findColumn(source: Source | undefined, name: string): Column | undefined {
  return source?.columns.find((column) => column.name === name)
}

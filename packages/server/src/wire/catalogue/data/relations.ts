/** The tables of pg_catalog and information_schema, with their columns. */
import { RELATION_LINES } from './postgres-catalogue.ts'

export interface Relation {
  readonly schema: string
  readonly name: string
  readonly oid: number
  readonly kind: string
  readonly columns: readonly RelationColumn[]
}

export interface RelationColumn {
  readonly name: string
  readonly type: number
  readonly modifier: number
  readonly isRequired: boolean
}

export const PG_CATALOG = 'pg_catalog'
export const INFORMATION_SCHEMA = 'information_schema'

const relations = new Map<string, Relation>()
for (const line of RELATION_LINES.trim().split('\n')) {
  const [path = '', oid, kind = '', ...columns] = line.split(' ')
  const [schema = '', name = ''] = path.split('.')
  relations.set(path, { schema, name, oid: Number(oid), kind, columns: columns.map(readColumn) })
}

function readColumn(text: string): RelationColumn {
  const isRequired = text.endsWith('!')
  const [name = '', type, modifier] = text.slice(0, isRequired ? -1 : undefined).split(':')
  return { name, type: Number(type), modifier: Number(modifier ?? -1), isRequired }
}

export const RELATIONS: ReadonlyMap<string, Relation> = relations

/** By a path of one to three names; pg_catalog is searched where none is given. */
export function findRelation(path: readonly string[]): Relation | undefined {
  const [name = '', schema = PG_CATALOG] = path.toReversed()
  return relations.get(`${schema}.${name}`)
}

/** Tables whose rows belong to a table, and the column that says to which. */
export const OWNER_COLUMNS: ReadonlyMap<string, string> = new Map([
  ['pg_attribute', 'attrelid'],
  ['pg_index', 'indrelid'],
  ['pg_constraint', 'conrelid'],
  ['pg_attrdef', 'adrelid'],
])

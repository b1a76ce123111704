/** The rows of pg_catalog's tables. Columns that are not given have the default of their type. */
import { RELATIONS, type Relation } from '../data/relations.ts'
import { SETTINGS } from '../data/settings.ts'
import { OID, TYPE_ROWS, typeRow } from '../data/types.ts'
import type { Value } from '../functions/values.ts'
import { type CatalogueModel, FUNCTIONS, NAMESPACES, OWNER, PUBLIC_OID } from './catalogue-model.ts'
import { indexDefinition, viewDefinition } from './definitions.ts'
import { DATABASE_OID, type IndexObject, OWNER_OID, type TableObject } from './objects.ts'

export interface Filling {
  /** The columns that differ between rows. */
  readonly columns: readonly string[]
  /** The same in all rows. */
  readonly constants?: Readonly<Record<string, Value>>
  readonly rows: Iterable<readonly Value[]>
}

const HEAP = 2
const BTREE = 403
const CLASS_OID = 1259
/** The collation `default`. */
const COLLATION = 100
/** That of the catalogue's own texts. */
const C_COLLATION = 950

/** By table. Tables that are not here are empty. */
export const FILLINGS: ReadonlyMap<string, (model: CatalogueModel) => Filling> = new Map<string, (model: CatalogueModel) => Filling>([
  [
    'pg_namespace',
    () => ({ columns: ['oid', 'nspname'], constants: { nspowner: OWNER_OID }, rows: [...NAMESPACES].map(([name, oid]) => [oid, name]) }),
  ],
  ['pg_class', classes],
  ['pg_attribute', attributes],
  [
    'pg_attrdef',
    ({ tables }) => ({
      columns: ['oid', 'adrelid', 'adnum', 'adbin'],
      rows: tables.flatMap((table) =>
        table.columns.flatMap((column) => (column.default === undefined ? [] : [[column.default.oid, table.oid, column.number, column.default.text]])),
      ),
    }),
  ],
  ['pg_type', types],
  ['pg_index', indexes],
  ['pg_constraint', constraints],
  [
    'pg_description',
    ({ tables }) => ({
      columns: ['objoid', 'description'],
      constants: { classoid: CLASS_OID, objsubid: 0 },
      rows: tables.flatMap(({ oid, description }) => (description === undefined ? [] : [[oid, description]])),
    }),
  ],
  [
    'pg_proc',
    () => ({
      columns: ['oid', 'proname', 'prorettype', 'proargtypes', 'pronargs', 'prosrc'],
      constants: { pronamespace: 11, proowner: OWNER_OID, prolang: 12, procost: 1, prokind: 'f', proisstrict: 1, provolatile: 'i', proparallel: 's' },
      rows: FUNCTIONS.map(({ oid, name, returns, takes }) => [oid, name, returns, JSON.stringify(takes), takes.length, name]),
    }),
  ],
  [
    'pg_database',
    () => ({
      columns: ['oid', 'datname'],
      constants: { datdba: OWNER_OID, encoding: 6, datlocprovider: 'c', datallowconn: 1, datconnlimit: -1, dattablespace: 1663, datcollate: 'C', datctype: 'C' },
      rows: [[DATABASE_OID, 'gatehouse']],
    }),
  ],
  [
    'pg_am',
    () => ({
      columns: ['oid', 'amname', 'amtype'],
      rows: [
        [HEAP, 'heap', 't'],
        [BTREE, 'btree', 'i'],
      ],
    }),
  ],
  [
    'pg_collation',
    () => ({
      columns: ['oid', 'collname', 'collprovider', 'collcollate', 'collctype'],
      constants: { collnamespace: 11, collowner: OWNER_OID, collisdeterministic: 1, collencoding: -1 },
      rows: [
        [COLLATION, 'default', 'd', null, null],
        [950, 'C', 'c', 'C', 'C'],
        [951, 'POSIX', 'c', 'POSIX', 'POSIX'],
      ],
    }),
  ],
  [
    'pg_tablespace',
    () => ({
      columns: ['oid', 'spcname'],
      constants: { spcowner: OWNER_OID },
      rows: [
        [1663, 'pg_default'],
        [1664, 'pg_global'],
      ],
    }),
  ],
  [
    'pg_language',
    () => ({
      columns: ['oid', 'lanname', 'lanpltrusted'],
      constants: { lanowner: OWNER_OID },
      rows: [
        [12, 'internal', 0],
        [13, 'c', 0],
        [14, 'sql', 1],
      ],
    }),
  ],
  [
    'pg_settings',
    () => ({
      columns: ['name', 'setting', 'boot_val', 'reset_val', 'vartype'],
      constants: { category: 'Preset Options', context: 'user', source: 'default', pending_restart: 0 },
      rows: [...SETTINGS].map(([name, value]) => [name, value, value, value, /^(on|off)$/.test(value) ? 'bool' : /^-?\d+$/.test(value) ? 'integer' : 'string']),
    }),
  ],
  [
    'pg_tables',
    ({ tables }) => ({
      columns: ['tablename', 'hasindexes'],
      constants: { schemaname: 'public', tableowner: OWNER, hasrules: 0, hastriggers: 0, rowsecurity: 0 },
      rows: tables.filter(({ kind }) => kind === 'r').map(({ name, indexes: own }) => [name, own.length > 0 ? 1 : 0]),
    }),
  ],
  [
    'pg_views',
    ({ tables }) => ({
      columns: ['viewname', 'definition'],
      constants: { schemaname: 'public', viewowner: OWNER },
      rows: tables.flatMap(({ name, viewText }) => (viewText === undefined ? [] : [[name, viewDefinition(viewText)]])),
    }),
  ],
  [
    'pg_indexes',
    (model) => ({
      columns: ['tablename', 'indexname', 'indexdef'],
      constants: { schemaname: 'public' },
      rows: model.tables.flatMap(({ name, indexes: own }) => own.map((index) => [name, index.name, indexDefinition(model, index.oid)])),
    }),
  ],
])

function* systemRelations(): Generator<Relation> {
  for (const relation of RELATIONS.values()) yield relation
}

function classes({ tables }: CatalogueModel): Filling {
  return {
    columns: [
      ...['oid', 'relname', 'relnamespace', 'reltype', 'relam', 'relfilenode', 'relkind', 'relnatts', 'relhasindex', 'relchecks'],
      ...['relhasrules', 'relreplident', 'reltuples'],
    ],
    constants: { relowner: OWNER_OID, relpersistence: 'p', relispopulated: 1 },
    rows: (function* () {
      for (const table of tables) {
        const isTable = table.kind === 'r'
        const checks = table.constraints.filter(({ kind }) => kind === 'c').length
        yield [
          ...[table.oid, table.name, PUBLIC_OID, table.rowType, isTable ? HEAP : 0, isTable ? table.oid : 0, table.kind],
          ...[table.columns.length, table.indexes.length > 0 ? 1 : 0, checks, isTable ? 0 : 1, isTable ? 'd' : 'n', isTable ? -1 : 0],
        ]
        for (const index of table.indexes)
          yield [index.oid, index.name, PUBLIC_OID, 0, BTREE, index.oid, 'i', index.columns.length, 0, 0, 0, 'n', 0]
      }
      for (const { oid, name, schema, kind, columns } of systemRelations()) {
        const isTable = kind === 'r'
        const namespace = NAMESPACES.get(schema) ?? 11
        yield [oid, name, namespace, 0, isTable ? HEAP : 0, 0, kind, columns.length, isTable ? 1 : 0, 0, isTable ? 0 : 1, 'n', 0]
      }
    })(),
  }
}

interface Attribute {
  readonly name: string
  readonly type: number
  readonly modifier: number
  readonly isRequired: boolean
  readonly hasDefault: boolean
}

function attributes({ tables }: CatalogueModel): Filling {
  return {
    columns: [
      ...['attrelid', 'attname', 'atttypid', 'attlen', 'attnum', 'atttypmod', 'attbyval', 'attalign', 'attstorage', 'attnotnull'],
      ...['atthasdef', 'attcollation', 'attndims'],
    ],
    constants: { attstattarget: -1, attcacheoff: -1, attislocal: 1, attcompression: '', attidentity: '', attgenerated: '' },
    rows: (function* () {
      for (const table of tables) {
        for (const column of table.columns)
          yield attribute(table.oid, { ...column, hasDefault: column.default !== undefined }, column.number)
        for (const index of table.indexes) {
          for (const [at, { column }] of index.columns.entries())
            yield attribute(index.oid, { ...column, isRequired: false, hasDefault: false }, at + 1)
        }
      }
      for (const { oid, columns } of systemRelations()) {
        for (const [at, column] of columns.entries()) yield attribute(oid, { ...column, hasDefault: false }, at + 1, C_COLLATION)
      }
    })(),
  }
}

/** What an attribute takes over from its type; looked up once for each. */
const traits = new Map<number, readonly Value[]>()

function attribute(relation: number, { name, type, modifier, isRequired, hasDefault }: Attribute, number: number, textCollation = COLLATION): Value[] {
  let known = traits.get(type)
  if (known === undefined) {
    const row = typeRow(type)
    known = [Number(row?.get('typlen') ?? -1), row?.get('typbyval') === 't' ? 1 : 0, row?.get('typalign') ?? 'i', row?.get('typstorage') ?? 'x', Number(row?.get('typcollation') ?? 0), row?.get('typcategory') === 'A' && type !== OID.int2vector && type !== OID.oidvector ? 1 : 0]
    traits.set(type, known)
  }
  const [length = null, byValue = null, align = null, storage = null, collation = null, dimensions = null] = known
  return [relation, name, type, length, number, modifier, byValue, align, storage, isRequired ? 1 : 0, hasDefault ? 1 : 0, collation === COLLATION ? textCollation : collation, dimensions]
}

function types({ tables }: CatalogueModel): Filling {
  const columns = [...(TYPE_ROWS[0]?.keys() ?? []), 'typnamespace', 'typrelid']
  const booleans = new Set(['typbyval', 'typispreferred'])
  const texts = new Set(['typname', 'typtype', 'typcategory', 'typdelim', 'typalign', 'typstorage'])
  const builtIn = TYPE_ROWS.map((row) => [
    ...[...row].map(([column, value]): Value => (booleans.has(column) ? (value === 't' ? 1 : 0) : texts.has(column) ? value : Number(value))),
    11,
    0,
  ])
  return {
    columns,
    constants: { typowner: OWNER_OID, typisdefined: 1, typtypmod: -1 },
    rows: (function* () {
      yield* builtIn
      for (const table of tables) {
        yield [table.rowType, table.name, -1, 0, 'c', 'C', 0, ',', 0, table.arrayType, 2290, 2291, 2402, 2403, 0, 0, 0, 0, 'd', 'x', 0, PUBLIC_OID, table.oid]
        yield [table.arrayType, `_${table.name}`, -1, 0, 'b', 'A', 0, ',', table.rowType, 0, 750, 751, 2400, 2401, 0, 0, 3816, 6179, 'd', 'x', 0, PUBLIC_OID, 0]
      }
    })(),
  }
}

/** The B-tree operator classes of our types. */
const OPERATOR_CLASSES: ReadonlyMap<number, number> = new Map<number, number>([
  [OID.int8, 3124],
  [OID.text, 3126],
  [OID.timestamptz, 3127],
  [OID.numeric, 3125],
  [OID.date, 3122],
  [OID.float8, 3123],
])

function indexes({ tables }: CatalogueModel): Filling {
  const list = (index: IndexObject, value: (part: IndexObject['columns'][number]) => number): string => JSON.stringify(index.columns.map(value))
  return {
    columns: ['indexrelid', 'indrelid', 'indnatts', 'indnkeyatts', 'indisunique', 'indisprimary', 'indkey', 'indcollation', 'indclass', 'indoption'],
    constants: { indimmediate: 1, indisvalid: 1, indisready: 1, indislive: 1 },
    rows: tables.flatMap((table) =>
      table.indexes.map((index) => [
        ...[index.oid, table.oid, index.columns.length, index.columns.length, index.isUnique ? 1 : 0, index.isPrimary ? 1 : 0],
        list(index, ({ column }) => column.number),
        list(index, ({ column }) => (column.type === OID.text ? COLLATION : 0)),
        list(index, ({ column }) => OPERATOR_CLASSES.get(column.type) ?? 0),
        // Descending, NULL first.
        list(index, ({ isDescending }) => (isDescending ? 3 : 0)),
      ]),
    ),
  }
}

function constraints({ tables }: CatalogueModel): Filling {
  return {
    columns: ['oid', 'conname', 'contype', 'conrelid', 'conindid', 'conkey', 'connoinherit', 'conbin'],
    constants: { connamespace: PUBLIC_OID, convalidated: 1, confupdtype: ' ', confdeltype: ' ', confmatchtype: ' ', conislocal: 1 },
    rows: tables.flatMap((table: TableObject) =>
      table.constraints.map(({ oid, name, kind, index, columns, condition }) => [
        ...[oid, name, kind, table.oid, index, JSON.stringify(columns.map(({ number }) => number)), kind === 'c' ? 0 : 1],
        condition ?? null,
      ]),
    ),
  }
}

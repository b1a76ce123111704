/** The rows of pg_catalog's tables that describe the tables that callers may read. */
import { RELATIONS, type Relation } from '../data/relations.ts'
import { isVector, OID, TYPE_ROWS, typeRow } from '../data/types.ts'
import type { Value } from '../functions/values.ts'
import { type CatalogueModel, NAMESPACES, OWNER, PUBLIC_OID } from './catalogue-model.ts'
import { indexDefinition, viewDefinition } from './definitions.ts'
import { BTREE, C_COLLATION, COLLATION, type Fill, type Filling, HEAP } from './filling.ts'
import { DATABASE_OID, type IndexColumn, OWNER_OID } from './objects.ts'

const CLASS_OID = 1259

/** By table. */
export const TABLE_FILLINGS: ReadonlyMap<string, Fill> = new Map<string, Fill>([
  ['pg_class', classes],
  ['pg_attribute', attributes],
  [
    'pg_attrdef',
    ({ tables }) => ({
      columns: ['oid', 'adrelid', 'adnum', 'adbin'],
      rows: tables.flatMap((table) =>
        table.columns.flatMap((column) =>
          column.default === undefined ? [] : [[column.default.oid, table.oid, column.number, column.default.text]],
        ),
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
      rows: tables.flatMap(({ name, kind, viewText = '' }) => (kind === 'v' ? [[name, viewDefinition(viewText)]] : [])),
    }),
  ],
  [
    'pg_matviews',
    ({ tables }) => ({
      columns: ['matviewname', 'hasindexes', 'ispopulated', 'definition'],
      constants: { schemaname: 'public', matviewowner: OWNER },
      rows: tables.flatMap(({ name, kind, isPopulated, viewText = '' }) =>
        kind === 'm' ? [[name, 1, isPopulated ? 1 : 0, viewDefinition(viewText)]] : [],
      ),
    }),
  ],
  [
    'pg_indexes',
    (model) => ({
      columns: ['tablename', 'indexname', 'indexdef'],
      constants: { schemaname: 'public' },
      rows: model.tables.flatMap(({ name, indexes: own }) =>
        own.map((index) => [name, index.name, indexDefinition(model, index.oid)]),
      ),
    }),
  ],
])

type Tables = Pick<CatalogueModel, 'tables'>

function* systemRelations(): Generator<Relation> {
  for (const relation of RELATIONS.values()) yield relation
}

function classes({ tables }: Tables): Filling {
  const isOurs = `oid >= ${DATABASE_OID}`
  return {
    columns: ['oid', 'relname', 'relnamespace', 'relkind', 'relnatts', 'relhasindex', 'relchecks', 'relispopulated'],
    constants: { relowner: OWNER_OID, relpersistence: 'p' },
    derived: {
      reltype: `CASE WHEN ${isOurs} AND relkind IN ('r', 'v', 'm') THEN oid + 2 ELSE 0 END`,
      relam: `CASE relkind WHEN 'r' THEN ${HEAP} WHEN 'm' THEN ${HEAP} WHEN 'i' THEN ${BTREE} ELSE 0 END`,
      relfilenode: `CASE WHEN ${isOurs} AND relkind IN ('r', 'i', 'm') THEN oid ELSE 0 END`,
      relhasrules: `relkind IN ('v', 'm')`,
      relreplident: `CASE WHEN ${isOurs} AND relkind IN ('r', 'm') THEN 'd' ELSE 'n' END`,
      reltuples: `CASE WHEN ${isOurs} AND relkind IN ('r', 'm') THEN -1.0 ELSE 0.0 END`,
    },
    rows: (function* () {
      for (const table of tables) {
        const { indexes: own } = table
        yield [
          table.oid,
          table.name,
          PUBLIC_OID,
          table.kind,
          table.columnCount,
          own.length > 0 ? 1 : 0,
          table.checkCount,
          table.isPopulated ? 1 : 0,
        ]
        for (const index of own) yield [index.oid, index.name, PUBLIC_OID, 'i', index.columnCount, 0, 0, 1]
      }
      for (const { oid, name, schema, kind, columns } of systemRelations())
        yield [oid, name, NAMESPACES.get(schema) ?? 11, kind, columns.length, kind === 'r' ? 1 : 0, 0, 1]
    })(),
  }
}

function attributes({ tables }: Tables, isWhole: boolean): Filling {
  return {
    columns: [...['attrelid', 'attname', 'atttypid', 'attnum', 'atttypmod', 'attnotnull', 'atthasdef'], ...TRAITS],
    constants: {
      attstattarget: -1,
      attcacheoff: -1,
      attislocal: 1,
      attcompression: '',
      attidentity: '',
      attgenerated: '',
    },
    rows: (function* () {
      for (const table of tables) {
        for (const { name, type, number, modifier, isRequired, default: value } of table.columns)
          yield [
            table.oid,
            name,
            type,
            number,
            modifier,
            isRequired ? 1 : 0,
            value === undefined ? 0 : 1,
            ...typeTraits(type),
          ]
        // Those of an index are found by its own id.
        for (const index of isWhole ? table.indexes : []) {
          for (const [at, { column }] of index.columns.entries())
            yield [index.oid, column.name, column.type, at + 1, column.modifier, 0, 0, ...typeTraits(column.type)]
        }
      }
      if (!isWhole) return
      for (const { oid, columns } of systemRelations()) {
        for (const [at, { name, type, modifier, isRequired }] of columns.entries()) {
          const [collation, ...others] = typeTraits(type)
          yield [
            oid,
            name,
            type,
            at + 1,
            modifier,
            isRequired ? 1 : 0,
            0,
            collation === COLLATION ? C_COLLATION : (collation ?? 0),
            ...others,
          ]
        }
      }
    })(),
  }
}

/** What an attribute takes over from its type. */
const TRAITS = ['attcollation', 'attlen', 'attbyval', 'attalign', 'attstorage', 'attndims']
const traits = new Map<number, readonly Value[]>()

function typeTraits(type: number): readonly Value[] {
  const known = traits.get(type)
  if (known !== undefined) return known
  const row = typeRow(type)
  const dimensions = row?.get('typcategory') === 'A' && !isVector(type) ? 1 : 0
  const numbers = [
    Number(row?.get('typcollation') ?? 0),
    Number(row?.get('typlen') ?? -1),
    row?.get('typbyval') === 't' ? 1 : 0,
  ]
  const found = [...numbers, row?.get('typalign') ?? 'i', row?.get('typstorage') ?? 'x', dimensions]
  traits.set(type, found)
  return found
}

function types({ tables }: Tables): Filling {
  const columns = [...(TYPE_ROWS[0]?.keys() ?? []), 'typnamespace', 'typrelid']
  const booleans = new Set(['typbyval', 'typispreferred'])
  const texts = new Set(['typname', 'typtype', 'typcategory', 'typdelim', 'typalign', 'typstorage'])
  const builtIn = TYPE_ROWS.map((row) => [
    ...[...row].map(
      ([column, value]): Value =>
        booleans.has(column) ? (value === 't' ? 1 : 0) : texts.has(column) ? value : Number(value),
    ),
    11,
    0,
  ])
  return {
    columns,
    constants: { typowner: OWNER_OID, typisdefined: 1, typtypmod: -1 },
    rows: builtIn,
    more: [
      {
        columns: ['oid', 'typname', 'typarray', 'typrelid'],
        fixed: {
          ...ROW_TYPE,
          typtype: 'c',
          typcategory: 'C',
          typelem: 0,
          typinput: 2290,
          typoutput: 2291,
          typreceive: 2402,
          typsend: 2403,
          typanalyze: 0,
          typsubscript: 0,
        },
        rows: tables.map((table) => [table.rowType, table.name, table.arrayType, table.oid]),
      },
      {
        columns: ['oid', 'typname', 'typelem'],
        fixed: {
          ...ROW_TYPE,
          typtype: 'b',
          typcategory: 'A',
          typarray: 0,
          typrelid: 0,
          typinput: 750,
          typoutput: 751,
          typreceive: 2400,
          typsend: 2401,
          typanalyze: 3816,
          typsubscript: 6179,
        },
        rows: tables.map((table) => [table.arrayType, `_${table.name}`, table.rowType]),
      },
    ],
  }
}

const ROW_TYPE = {
  ...{ typlen: -1, typbyval: 0, typispreferred: 0, typdelim: ',', typmodin: 0, typmodout: 0 },
  ...{ typalign: 'd', typstorage: 'x', typcollation: 0, typnamespace: PUBLIC_OID },
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

function indexes({ tables }: Tables): Filling {
  const count = 'json_array_length(indkey)'
  return {
    columns: [
      'indexrelid',
      'indrelid',
      'indisunique',
      'indisprimary',
      'indkey',
      'indcollation',
      'indclass',
      'indoption',
    ],
    constants: { indimmediate: 1, indisvalid: 1, indisready: 1, indislive: 1 },
    derived: { indnatts: count, indnkeyatts: count },
    rows: (function* () {
      for (const table of tables) {
        for (const index of table.indexes) {
          const { columns } = index
          const list = (value: (part: IndexColumn) => number): string => `[${columns.map(value).join(',')}]`
          yield [
            ...[
              index.oid,
              table.oid,
              index.isUnique ? 1 : 0,
              index.isPrimary ? 1 : 0,
              list(({ column }) => column.number),
            ],
            list(({ column }) => (column.type === OID.text ? COLLATION : 0)),
            list(({ column }) => OPERATOR_CLASSES.get(column.type) ?? 0),
            // Descending, NULL first.
            list(({ isDescending }) => (isDescending ? 3 : 0)),
          ]
        }
      }
    })(),
  }
}

function constraints({ tables }: Tables): Filling {
  return {
    columns: ['oid', 'conname', 'contype', 'conrelid', 'conindid', 'conkey', 'connoinherit', 'conbin'],
    constants: {
      connamespace: PUBLIC_OID,
      convalidated: 1,
      confupdtype: ' ',
      confdeltype: ' ',
      confmatchtype: ' ',
      conislocal: 1,
    },
    rows: tables.flatMap((table) =>
      table.constraints.map(({ oid, name, kind, index, columns, condition }) => [
        ...[
          oid,
          name,
          kind,
          table.oid,
          index,
          JSON.stringify(columns.map(({ number }) => number)),
          kind === 'c' ? 0 : 1,
        ],
        condition ?? null,
      ]),
    ),
  }
}

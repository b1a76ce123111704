/** The rows of information_schema's views. */
import { OID, standardName, typeName } from '../data/types.ts'
import type { Value } from '../functions/values.ts'
import { type CatalogueModel, NAMESPACES, OWNER } from './catalogue-model.ts'
import { viewDefinition } from './definitions.ts'
import type { Fill, Filling } from './filling.ts'
import type { ColumnObject, ConstraintObject, TableObject } from './objects.ts'

const DATABASE = 'gatehouse'
const SCHEMA = 'public'
/** What callers with these scopes may do; the views of privileges add the caller. */
export const PRIVILEGES = 'gh_privileges'

export const INFORMATION_FILLINGS: ReadonlyMap<string, Fill> = new Map<string, Fill>([
  [
    'info_schemata',
    () => ({
      columns: ['schema_name'],
      constants: { catalog_name: DATABASE, schema_owner: OWNER },
      rows: [...NAMESPACES.keys()].map((name) => [name]),
    }),
  ],
  [
    'info_tables',
    ({ tables }) => ({
      columns: ['table_name', 'table_type', 'is_insertable_into'],
      constants: { table_catalog: DATABASE, table_schema: SCHEMA, is_typed: 'NO' },
      // As in PostgreSQL, materialized views are in pg_catalog only.
      rows: tables.flatMap(({ name, kind }) =>
        kind === 'm' ? [] : [[name, kind === 'r' ? 'BASE TABLE' : 'VIEW', kind === 'r' ? 'YES' : 'NO']],
      ),
    }),
  ],
  ['info_columns', columns],
  [
    'info_views',
    ({ tables }) => ({
      columns: ['table_name', 'view_definition'],
      constants: { table_catalog: DATABASE, table_schema: SCHEMA, check_option: 'NONE', ...UNCHANGEABLE },
      rows: tables.flatMap(({ name, kind, viewText = '' }) => (kind === 'v' ? [[name, viewDefinition(viewText)]] : [])),
    }),
  ],
  [
    'info_table_constraints',
    ({ tables }) => ({
      columns: ['constraint_name', 'table_name', 'constraint_type'],
      constants: {
        ...{ constraint_catalog: DATABASE, constraint_schema: SCHEMA, table_catalog: DATABASE, table_schema: SCHEMA },
        ...{ is_deferrable: 'NO', initially_deferred: 'NO', enforced: 'YES' },
      },
      rows: tables.flatMap((table) =>
        table.constraints.map(({ name, kind }) => [name, table.name, CONSTRAINT_TYPES[kind]]),
      ),
    }),
  ],
  [
    'info_key_column_usage',
    ({ tables }) => ({
      columns: ['constraint_name', 'table_name', 'column_name', 'ordinal_position'],
      constants: {
        constraint_catalog: DATABASE,
        constraint_schema: SCHEMA,
        table_catalog: DATABASE,
        table_schema: SCHEMA,
      },
      rows: tables.flatMap((table) =>
        table.constraints.flatMap((constraint) =>
          constraint.columns.map((column, at) => [constraint.name, table.name, column.name, at + 1]),
        ),
      ),
    }),
  ],
  [
    'info_constraint_column_usage',
    ({ tables }) => ({
      columns: ['table_name', 'column_name', 'constraint_name'],
      constants: {
        constraint_catalog: DATABASE,
        constraint_schema: SCHEMA,
        table_catalog: DATABASE,
        table_schema: SCHEMA,
      },
      rows: tables.flatMap((table) =>
        table.constraints.flatMap((constraint) =>
          constraint.columns.map((column) => [table.name, column.name, constraint.name]),
        ),
      ),
    }),
  ],
  [
    PRIVILEGES,
    ({ tables }) => ({
      columns: ['table_name', 'privilege_type'],
      rows: tables.flatMap((table) => privileges(table).map((privilege) => [table.name, privilege])),
    }),
  ],
  [
    'info_character_sets',
    () => ({
      columns: ['character_set_name'],
      constants: {
        character_repertoire: 'UCS',
        form_of_use: 'UTF8',
        default_collate_catalog: DATABASE,
        default_collate_schema: 'pg_catalog',
        default_collate_name: 'C',
      },
      rows: [['UTF8']],
    }),
  ],
  ['info_information_schema_catalog_name', () => ({ columns: ['catalog_name'], rows: [[DATABASE]] })],
])

const UNCHANGEABLE = {
  ...{
    is_updatable: 'NO',
    is_insertable_into: 'NO',
    is_trigger_updatable: 'NO',
    is_trigger_deletable: 'NO',
    is_trigger_insertable_into: 'NO',
  },
}

const CONSTRAINT_TYPES: Readonly<Record<ConstraintObject['kind'], string>> = {
  p: 'PRIMARY KEY',
  u: 'UNIQUE',
  c: 'CHECK',
}

function privileges({ isWritable, kind }: TableObject): string[] {
  return isWritable && kind === 'r' ? ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] : ['SELECT']
}

function columns({ tables }: Pick<CatalogueModel, 'tables'>): Filling {
  return {
    columns: [
      ...[
        'table_name',
        'column_name',
        'ordinal_position',
        'column_default',
        'is_nullable',
        'data_type',
        'character_octet_length',
      ],
      ...[
        'numeric_precision',
        'numeric_precision_radix',
        'numeric_scale',
        'datetime_precision',
        'udt_name',
        'dtd_identifier',
        'is_updatable',
      ],
    ],
    constants: {
      ...{ table_catalog: DATABASE, table_schema: SCHEMA, udt_catalog: DATABASE, udt_schema: 'pg_catalog' },
      ...{ is_self_referencing: 'NO', is_identity: 'NO', identity_cycle: 'NO', is_generated: 'NEVER' },
    },
    rows: (function* () {
      for (const table of tables) {
        if (table.kind === 'm') continue
        for (const column of table.columns) {
          yield [
            ...[
              table.name,
              column.name,
              column.number,
              column.default?.text ?? null,
              column.isRequired ? 'NO' : 'YES',
              standardName(column.type),
            ],
            ...lengths(column),
            ...[typeName(column.type), String(column.number), table.kind === 'r' ? 'YES' : 'NO'],
          ]
        }
      }
    })(),
  }
}

const NUMBERS: ReadonlyMap<number, readonly Value[]> = new Map<number, readonly Value[]>([
  [OID.int8, [64, 2, 0]],
  [OID.float8, [53, 2, null]],
])
const TIMES: ReadonlyMap<number, number> = new Map<number, number>([
  [OID.date, 0],
  [OID.time, 6],
  [OID.timestamp, 6],
  [OID.timestamptz, 6],
])

/** Octets, precision, radix and scale, and the precision of times. */
function lengths({ type, modifier }: ColumnObject): Value[] {
  const decimal = type === OID.numeric ? [(modifier - 4) >> 16, 10, (modifier - 4) & 0xffff] : undefined
  const octets = type === OID.text ? 1_073_741_824 : null
  return [octets, ...(decimal ?? NUMBERS.get(type) ?? [null, null, null]), TIMES.get(type) ?? null]
}

/** Functions that return sets of rows, in FROM and in the select list. */
import { arrayTypeOid, elementTypeOid, isVector, OID } from '../data/types.ts'
import type { Typed } from './typed.ts'

export interface SetFunction {
  readonly takes: readonly (number | 'any')[]
  readonly least: number
  readonly most: number
  /** A table-valued function of SQLite, which can use columns of the tables before it. Its rows are numbered by `key`, from 0. */
  readonly table: (args: readonly string[]) => string
  readonly columns: (args: readonly Typed[], alias: string) => readonly SetColumn[]
}

export interface SetColumn {
  readonly name: string
  readonly sql: string
  readonly type: number
}

const jsonEach = (args: readonly string[]): string => `json_each(${args[0]})`
/** Nothing here has such entries. */
const empty = (): string => `json_each('[]')`

function elementType(array: Typed | undefined): number {
  return elementTypeOid(array?.type ?? OID.text) ?? OID.text
}

function none(...columns: readonly (readonly [name: string, type: number])[]): SetFunction {
  return {
    takes: ['any'],
    least: 0,
    most: 4,
    table: empty,
    columns: (_args, alias) => columns.map(([name, type]) => ({ name, sql: `${alias}.value`, type })),
  }
}

export const SET_FUNCTIONS: ReadonlyMap<string, SetFunction> = new Map<string, SetFunction>([
  [
    'unnest',
    {
      takes: ['any'],
      least: 1,
      most: 1,
      table: jsonEach,
      columns: ([array], alias) => [{ name: 'unnest', sql: `${alias}.value`, type: elementType(array) }],
    },
  ],
  [
    'generate_series',
    {
      takes: [OID.int4, OID.int4, OID.int4],
      least: 2,
      most: 3,
      table: (args) => `gh_series(${args[0]}, ${args[1]}, ${args[2] ?? '1'})`,
      columns: ([start], alias) => [
        { name: 'generate_series', sql: `${alias}.value`, type: start?.type === OID.int8 ? OID.int8 : OID.int4 },
      ],
    },
  ],
  [
    'generate_subscripts',
    {
      takes: ['any', OID.int4, OID.bool],
      least: 2,
      most: 3,
      table: jsonEach,
      columns: ([array], alias) => [
        { name: 'generate_subscripts', sql: `(${alias}.key + ${isVector(array?.type ?? 0) ? 0 : 1})`, type: OID.int4 },
      ],
    },
  ],
  [
    '_pg_expandarray',
    {
      takes: ['any'],
      least: 1,
      most: 1,
      table: jsonEach,
      columns: ([array], alias) => [
        { name: 'x', sql: `${alias}.value`, type: elementType(array) },
        { name: 'n', sql: `(${alias}.key + 1)`, type: OID.int4 },
      ],
    },
  ],
  [
    'regexp_split_to_table',
    {
      takes: [OID.text, OID.text],
      least: 2,
      most: 2,
      table: (args) => `json_each(gh_regexp_split(${args[0]}, ${args[1]}))`,
      columns: (_args, alias) => [{ name: 'regexp_split_to_table', sql: `${alias}.value`, type: OID.text }],
    },
  ],
  [
    'regexp_matches',
    {
      takes: [OID.text, OID.text, OID.text],
      least: 2,
      most: 3,
      table: (args) => `json_each(gh_regexp_matches(${args[0]}, ${args[1]}, ${args[2] ?? "''"}))`,
      columns: (_args, alias) => [{ name: 'regexp_matches', sql: `${alias}.value`, type: arrayTypeOid(OID.text) }],
    },
  ],
  [
    'pg_get_keywords',
    {
      takes: [],
      least: 0,
      most: 0,
      table: () => `json_each(gh_keywords())`,
      columns: (_args, alias) => [
        { name: 'word', sql: `json_extract(${alias}.value, '$[0]')`, type: OID.text },
        { name: 'catcode', sql: `json_extract(${alias}.value, '$[1]')`, type: OID.char },
        { name: 'barelabel', sql: '1', type: OID.bool },
        {
          name: 'catdesc',
          sql: `CASE json_extract(${alias}.value, '$[1]') WHEN 'R' THEN 'reserved' ELSE 'unreserved' END`,
          type: OID.text,
        },
        { name: 'baredesc', sql: `'can be bare label'`, type: OID.text },
      ],
    },
  ],
  [
    'aclexplode',
    none(['grantor', OID.oid], ['grantee', OID.oid], ['privilege_type', OID.text], ['is_grantable', OID.bool]),
  ],
  ['pg_options_to_table', none(['option_name', OID.text], ['option_value', OID.text])],
  ['pg_available_extensions', none(['name', OID.name], ['default_version', OID.text], ['comment', OID.text])],
  ['pg_listening_channels', none(['pg_listening_channels', OID.text])],
  [
    'pg_partition_tree',
    none(['relid', OID.regclass], ['parentrelid', OID.regclass], ['isleaf', OID.bool], ['level', OID.int4]),
  ],
  ['pg_partition_ancestors', none(['relid', OID.regclass])],
  [
    'pg_lock_status',
    none(['locktype', OID.text], ['database', OID.oid], ['relation', OID.oid], ['pid', OID.int4], ['mode', OID.text]),
  ],
  ['pg_get_publication_tables', none(['relid', OID.oid], ['attrs', OID.int2vector], ['qual', OID.text])],
  [
    'pg_sequence_parameters',
    none(
      ['start_value', OID.int8],
      ['minimum_value', OID.int8],
      ['maximum_value', OID.int8],
      ['increment', OID.int8],
      ['cycle_option', OID.bool],
      ['cache_size', OID.int8],
      ['data_type', OID.oid],
    ),
  ],
  ['pg_tablespace_databases', none(['pg_tablespace_databases', OID.oid])],
])

/** Aggregates and window functions of catalogue statements. */
import { arrayTypeOid, OID } from '../data/types.ts'
import type { Typed } from './typed.ts'

export interface Aggregate {
  readonly returns: (args: readonly Typed[]) => number
  /** `args` with DISTINCT before and ORDER BY after them, as written in the call; `tail` is FILTER and OVER. */
  readonly sql: (args: string, tail: string) => string
  /** Only with OVER. */
  readonly isWindow?: boolean
}

const first = ([value]: readonly Typed[]): number =>
  value === undefined || value.type === OID.unknown ? OID.text : value.type
const named =
  (name: string) =>
  (args: string, tail: string): string =>
    `${name}(${args})${tail}`

const extreme = (args: readonly Typed[]): number => (first(args) === OID.name ? OID.text : first(args))

export const AGGREGATES: ReadonlyMap<string, Aggregate> = new Map<string, Aggregate>([
  ['count', { returns: () => OID.int8, sql: named('count') }],
  ['min', { returns: extreme, sql: named('min') }],
  ['max', { returns: extreme, sql: named('max') }],
  [
    'sum',
    {
      returns: (args) => (first(args) === OID.int8 ? OID.numeric : first(args) === OID.float8 ? OID.float8 : OID.int8),
      sql: named('sum'),
    },
  ],
  ['avg', { returns: (args) => (first(args) === OID.float8 ? OID.float8 : OID.numeric), sql: named('avg') }],
  ['bool_and', { returns: () => OID.bool, sql: named('min') }],
  ['every', { returns: () => OID.bool, sql: named('min') }],
  ['bool_or', { returns: () => OID.bool, sql: named('max') }],
  ['string_agg', { returns: () => OID.text, sql: named('group_concat') }],
  // No rows give NULL, not an empty array.
  [
    'array_agg',
    {
      returns: (args) => arrayTypeOid(first(args)),
      sql: (args, tail) => `nullif(json_group_array(${args})${tail}, '[]')`,
    },
  ],
  ['json_agg', { returns: () => OID.json, sql: (args, tail) => `nullif(json_group_array(${args})${tail}, '[]')` }],
  ...['row_number', 'rank', 'dense_rank', 'ntile'].map((name): [string, Aggregate] => [
    name,
    { returns: () => OID.int8, sql: named(name), isWindow: true },
  ]),
  ...['lag', 'lead', 'first_value', 'last_value'].map((name): [string, Aggregate] => [
    name,
    { returns: first, sql: named(name), isWindow: true },
  ]),
])

/** Resolves the name of a type in CAST and in column definitions. */

import { didYouMean } from '../errors/did-you-mean.ts'
import type { Binding } from '../scope/binding.ts'
import type { Name, TypeRef } from '../syntax/ast-query.ts'
import {
  BINARY,
  BOOLEAN,
  COLUMN_TYPES,
  DECIMAL_DIGITS,
  DOUBLE,
  decimal,
  INTEGER,
  INTERVAL,
  type IqlType,
  LOCAL_TIMESTAMP,
  TEXT,
  TIME,
  TIMESTAMP,
} from '../types/types.ts'

/** PostgreSQL's names of IQL's types. Its `timestamp` is IQL's Timestamp, as everything is in UTC. */
export const POSTGRES_TYPES: ReadonlyMap<string, IqlType> = new Map([
  ...named(TEXT, 'varchar', 'character varying'),
  ...named(INTEGER, 'int', 'int2', 'int4', 'int8', 'smallint', 'bigint'),
  ...named(DOUBLE, 'float', 'float8', 'double precision'),
  ...named(BOOLEAN, 'bool'),
  ...named(TIMESTAMP, 'timestamptz', 'timestamp with time zone'),
  ...named(LOCAL_TIMESTAMP, 'timestamp without time zone'),
  ...named(TIME, 'time without time zone'),
  ...named(BINARY, 'bytea'),
])

/** Hints for type names of other SQL dialects. */
const FOREIGN_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    number: 'Decimal(p, s)',
    money: 'Decimal(p, s)',
    real: 'Double',
    float4: 'Double',
    char: 'Text',
    string: 'Text',
    datetime: 'Timestamp',
    guid: 'Uuid',
    jsonb: 'Json',
    blob: 'Binary',
  }),
)

/** PostgreSQL's columns that number their rows. */
const NUMBERING: ReadonlySet<string> = new Set(['serial', 'bigserial', 'smallserial', 'serial4', 'serial8', 'serial2'])

/** Decimal, whose digits follow. */
export function isDecimalName({ text }: Name): boolean {
  const key = text.toLowerCase()
  return key === 'decimal' || key === 'numeric'
}

function named(type: IqlType, ...names: readonly string[]): [string, IqlType][] {
  return names.map((name) => [name, type])
}

export function bindType(binding: Binding, { name, arguments: digits }: TypeRef, { forCast = false } = {}): IqlType {
  const key = name.text.toLowerCase()
  if (isDecimalName(name)) return bindDecimal(binding, name.at, digits)
  if (key === 'float' && digits.length > 0) return bindFloat(binding, name.at, digits)
  if (digits.length > 0 && !isMicroseconds(key, digits))
    throw binding.fail('BadType', name.at, `${name.text} takes no digits`, { hint: digitsHint(key, digits) })
  if (key === 'interval' && forCast) return INTERVAL
  const spelled = POSTGRES_TYPES.get(key)
  if (spelled !== undefined && spelled.kind !== 'LocalTimestamp') return spelled
  if (key === 'localtimestamp' || spelled !== undefined) {
    if (forCast) return LOCAL_TIMESTAMP
    throw binding.fail('BadType', name.at, 'A column cannot hold a LocalTimestamp', {
      hint: 'write Timestamp, and make local times Timestamps first: in IQL with AT TIME ZONE, in pandas with tz_localize',
    })
  }
  const kind = COLUMN_TYPES.find((known) => known.toLowerCase() === key)
  if (kind !== undefined && kind !== 'Decimal') return { kind }
  throw binding.fail('UnknownType', name.at, `There is no type ${name.text}`, {
    expected: COLUMN_TYPES,
    hint: hintFor(name.text),
  })
}

function hintFor(name: string): string | undefined {
  if (NUMBERING.has(name.toLowerCase())) return 'write Integer and give each row its number, or Uuid DEFAULT gen_uuid()'
  const foreign = FOREIGN_NAMES.get(name.toLowerCase())
  return foreign === undefined ? didYouMean(name, COLUMN_TYPES) : `did you mean ${foreign}?`
}

/** A time has 6 digits after the point of its seconds, whatever its type is called. */
function isMicroseconds(key: string, [digits, ...more]: readonly number[]): boolean {
  return digits === 6 && more.length === 0 && TIMES.test(key)
}

const TIMES = /^time/

function digitsHint(key: string, [digits = 1]: readonly number[]): string | undefined {
  if (TIMES.test(key)) return `write ${key} without digits: it has microseconds`
  return CHARACTERS.has(key) ? `write varchar(${digits}), which is not filled up with blanks` : undefined
}

/** PostgreSQL fills their values up with blanks, and ignores these in comparisons. */
const CHARACTERS: ReadonlySet<string> = new Set(['char', 'character', 'bpchar', 'nchar'])

/** SQL's float(p): p is a least number of binary digits, and a Double has 53. */
function bindFloat(binding: Binding, at: number, [precision = 0, ...more]: readonly number[]): IqlType {
  if (more.length > 0 || precision < 1 || precision > 53)
    throw binding.fail('BadType', at, 'float has from 1 to 53 binary digits', { hint: 'write Double' })
  return DOUBLE
}

function bindDecimal(binding: Binding, at: number, digits: readonly number[]): IqlType {
  const [precision, scale = 0] = digits
  if (precision === undefined) {
    throw binding.fail('BadType', at, 'Decimal needs its digits', { hint: 'write Decimal(18, 4)' })
  }
  if (precision < 1 || precision > DECIMAL_DIGITS)
    throw binding.fail('BadType', at, `Decimal has from 1 to ${DECIMAL_DIGITS} digits`)
  if (scale > precision)
    throw binding.fail('BadType', at, 'A Decimal cannot have more digits after the point than in total')
  return decimal(precision, scale)
}

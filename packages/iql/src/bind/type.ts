/** Resolves the name of a type in CAST and in column definitions. */

import { didYouMean } from '../errors/did-you-mean.ts'
import type { Binding } from '../scope/binding.ts'
import type { TypeRef } from '../syntax/ast-query.ts'
import { COLUMN_TYPES, DECIMAL_DIGITS, decimal, INTERVAL, type IqlType, LOCAL_TIMESTAMP } from '../types/types.ts'

/** Hints for type names of other SQL dialects. */
const FOREIGN_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    int: 'Integer',
    int4: 'Integer',
    int8: 'Integer',
    bigint: 'Integer',
    smallint: 'Integer',
    numeric: 'Decimal(p, s)',
    number: 'Decimal(p, s)',
    money: 'Decimal(p, s)',
    float: 'Double',
    float8: 'Double',
    real: 'Double',
    varchar: 'Text',
    char: 'Text',
    string: 'Text',
    bool: 'Boolean',
    datetime: 'Timestamp',
    timestamptz: 'Timestamp',
    guid: 'Uuid',
    jsonb: 'Json',
    bytea: 'Binary',
    blob: 'Binary',
  }),
)

export function bindType(binding: Binding, { name, arguments: digits }: TypeRef, { forCast = false } = {}): IqlType {
  const key = name.text.toLowerCase()
  if (key === 'decimal') return bindDecimal(binding, name.at, digits)
  if (digits.length > 0) throw binding.fail('BadType', name.at, `${name.text} takes no digits`)
  if (key === 'interval' && forCast) return INTERVAL
  if (key === 'localtimestamp') {
    if (forCast) return LOCAL_TIMESTAMP
    throw binding.fail('BadType', name.at, 'A column cannot hold a LocalTimestamp', {
      hint: 'store a Timestamp, and read it AT TIME ZONE',
    })
  }
  const kind = COLUMN_TYPES.find((known) => known.toLowerCase() === key)
  if (kind !== undefined && kind !== 'Decimal') return { kind }
  const foreign = FOREIGN_NAMES.get(key)
  throw binding.fail('UnknownType', name.at, `There is no type ${name.text}`, {
    expected: COLUMN_TYPES,
    hint: foreign === undefined ? didYouMean(name.text, COLUMN_TYPES) : `did you mean ${foreign}?`,
  })
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

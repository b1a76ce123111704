/** The table of types: where each is represented. */
import type { IqlType, TypeKind } from 'gatehouse-iql'
import { BINARY_VALUES } from './binary.ts'
import { BOOLEANS } from './boolean.ts'
import { DATES } from './date.ts'
import { decimals } from './decimal.ts'
import { DOUBLES } from './double.ts'
import { INTEGERS } from './integer.ts'
import { FIXED_INTERVALS, INTERVALS } from './interval.ts'
import { JSON_VALUES } from './json.ts'
import type { Representation } from './representation.ts'
import { TEXTS } from './text.ts'
import { TIMES } from './time.ts'
import { LOCAL_TIMESTAMPS, TIMESTAMPS } from './timestamp.ts'
import { UUIDS } from './uuid.ts'

/** Those whose values do not depend on parameters of the type. */
const TYPES: Readonly<Record<Exclude<TypeKind, 'Decimal' | 'Interval'>, Representation>> = {
  Text: TEXTS,
  Integer: INTEGERS,
  Double: DOUBLES,
  Boolean: BOOLEANS,
  Timestamp: TIMESTAMPS,
  LocalTimestamp: LOCAL_TIMESTAMPS,
  Date: DATES,
  Time: TIMES,
  Uuid: UUIDS,
  Json: JSON_VALUES,
  Binary: BINARY_VALUES,
  // It has no values; its columns are those of texts.
  Null: TEXTS,
}

/** Ask once for each column of a result, not for each value. */
export function representation(type: IqlType): Representation {
  if (type.kind === 'Decimal') return decimals(type)
  if (type.kind === 'Interval') return type.months ? INTERVALS : FIXED_INTERVALS
  return TYPES[type.kind]
}

/** The conversions that CAST supports. */
import type { IqlType, TypeKind } from './types.ts'

type Castable = Exclude<TypeKind, 'Null' | 'Interval'>

/** The target types of each type. Every type casts to itself; Text casts from and to types that have an exact text form. */
export const CASTS: Readonly<Record<Castable, readonly Castable[]>> = {
  Text: ['Integer', 'Decimal', 'Double', 'Boolean', 'Timestamp', 'LocalTimestamp', 'Date', 'Time', 'Uuid', 'Json'],
  Integer: ['Text', 'Decimal', 'Double', 'Boolean'],
  Decimal: ['Text', 'Integer', 'Double'],
  Double: ['Text', 'Integer', 'Decimal'],
  Boolean: ['Text', 'Integer'],
  Timestamp: ['Text', 'Date', 'Time'],
  LocalTimestamp: ['Text', 'Date', 'Time'],
  Date: ['Text', 'Timestamp', 'LocalTimestamp'],
  Time: ['Text'],
  Uuid: ['Text'],
  Json: ['Text'],
  Binary: [],
}

/** The rules of the conversions, for the documentation. */
export const CAST_RULES: readonly string[] = [
  'Text is parsed in the form that results use. Anything else, including surrounding blanks, is the error `IQL.BadValue`.',
  'A time with more than six digits after the point of its seconds is rounded to microseconds as in PostgreSQL, in casts and in literals. In JSON it is an error.',
  'A number cast to Integer or to a Decimal with a smaller scale is rounded half away from zero.',
  'A Double cast to Text or Decimal becomes the shortest decimal that parses as the same Double.',
  'Integer 0 casts to false, every other Integer to true; a Boolean casts to 0 or 1.',
  'A Timestamp cast to Date or Time keeps that part in UTC, and a LocalTimestamp that of its own clock; a Date cast to either becomes the midnight at its start.',
  'Timestamp and LocalTimestamp are converted by AT TIME ZONE, not by CAST.',
  'A value that exceeds the digits or the range of the new type is the error `IQL.Overflow`.',
]

export function canCast(from: IqlType, to: IqlType): boolean {
  if (from.kind === to.kind || from.kind === 'Null') return true
  if (from.kind === 'Interval' || to.kind === 'Interval' || to.kind === 'Null') return false
  return CASTS[from.kind].includes(to.kind)
}

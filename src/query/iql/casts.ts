/** Which types CAST turns into which, and how: the one table of conversions. */
import type { IqlType, TypeKind } from './types.ts'

type Castable = Exclude<TypeKind, 'Null' | 'Interval'>

/** From each type, to these. Every type casts to itself; Text casts from and to what can be written exactly. */
export const CASTS: Readonly<Record<Castable, readonly Castable[]>> = {
  Text: ['Integer', 'Decimal', 'Double', 'Boolean', 'Timestamp', 'Date', 'Time', 'Uuid', 'Json'],
  Integer: ['Text', 'Decimal', 'Double', 'Boolean'],
  Decimal: ['Text', 'Integer', 'Double'],
  Double: ['Text', 'Integer', 'Decimal'],
  Boolean: ['Text', 'Integer'],
  Timestamp: ['Text', 'Date', 'Time'],
  Date: ['Text', 'Timestamp'],
  Time: ['Text'],
  Uuid: ['Text'],
  Json: ['Text'],
  Binary: [],
}

/** What the conversions do, for the documentation. */
export const CAST_RULES: readonly string[] = [
  'Text is read in the form that a result has it; blanks around it, or anything else, are the error `IQL.BadValue`.',
  'To Integer and to a Decimal of a smaller scale a number is rounded, halves away from zero.',
  'Double to Text and to Decimal takes the shortest decimal form that reads back as the same Double.',
  'Integer to Boolean is false for 0 alone; Boolean to Integer is 0 or 1.',
  'Timestamp to Date and Time takes its part in UTC; Date to Timestamp is the midnight that begins it.',
  'What does not fit the digits or the range of the new type is the error `IQL.Overflow`.',
]

export function canCast(from: IqlType, to: IqlType): boolean {
  if (from.kind === to.kind || from.kind === 'Null') return true
  if (from.kind === 'Interval' || to.kind === 'Interval' || to.kind === 'Null') return false
  return CASTS[from.kind].includes(to.kind)
}

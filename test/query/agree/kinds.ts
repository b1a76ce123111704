/** The kinds of expressions that the generator produces, with the functions, operators and casts for each. */

import {
  type ArgumentKind,
  CASTS,
  COLUMN_TYPES,
  decimal,
  FIXED_INTERVAL,
  FUNCTIONS,
  type FunctionDefinition,
  INTERVAL,
  type IqlType,
  OPERATORS,
  type OperatorId,
} from 'gatehouse-iql'

/** The types of columns, of tables or of sub-queries. */
export const COLUMN_KINDS = [...COLUMN_TYPES, 'LocalTimestamp'] as const
export type ColumnKind = (typeof COLUMN_KINDS)[number]
/** `Fixed` is an interval without months, `Months` one with them. */
export type Kind = ColumnKind | 'Fixed' | 'Months'
/** An argument: an expression of a kind, or a literal specific to the function. */
export type ArgumentOf =
  | Kind
  | 'part'
  | 'time-part'
  | 'fine'
  | 'unit'
  | 'span'
  | 'digits'
  | 'fraction'
  | 'bucket'
  | 'zone'

export interface OperatorUse {
  readonly id: OperatorId
  readonly left: Kind
  readonly right: Kind
  readonly result: Kind
}

export interface FunctionUse {
  readonly definition: FunctionDefinition
  readonly arguments: readonly ArgumentOf[]
  readonly result: Kind
}

const ORDERED: readonly ColumnKind[] = [
  'Text',
  'Integer',
  'Decimal',
  'Double',
  'Timestamp',
  'LocalTimestamp',
  'Date',
  'Time',
]
export const COMPARABLE: readonly ColumnKind[] = COLUMN_KINDS.filter((kind) => kind !== 'Json')
const INTERVALS: readonly Kind[] = ['Fixed', 'Months']

export const OPERATOR_USES: readonly OperatorUse[] = operatorIds().flatMap((id) => {
  const { left, right, result } = OPERATORS[id]
  return listKinds(left).flatMap((a) =>
    listKinds(right).flatMap((b) => {
      const made = result(sample(a), sample(b))
      const isTime = left === 'Time' || right === 'Time'
      return made === undefined || (isTime && b === 'Months') ? [] : [{ id, left: a, right: b, result: findKind(made) }]
    }),
  )
})

/** Every signature of every deterministic function. */
export const FUNCTION_USES: readonly FunctionUse[] = FUNCTIONS.filter(
  ({ id, kind }) => id !== 'gen_uuid' && kind !== 'table',
).flatMap(findUses)

export const CAST_USES: readonly { readonly from: ColumnKind; readonly to: ColumnKind }[] = COLUMN_KINDS.flatMap(
  (from) => [from, ...CASTS[from]].map((to) => ({ from, to })),
)

function findUses(definition: FunctionDefinition): FunctionUse[] {
  const all = definition.arguments.map((kind) => listChoices(kind, definition.id === 'date_part_time'))
  const kinds = definition.arguments
  // Arguments of a common type have the same kind.
  const combined = kinds.includes('common')
    ? COMPARABLE.flatMap((kind) => combinations(all.map((some, at) => (kinds[at] === 'common' ? [kind] : some))))
    : combinations(all).filter((args) => !isMixed(kinds, args))
  return combined.map((args) => {
    const moment = args.includes('LocalTimestamp') ? 'LocalTimestamp' : 'Timestamp'
    const types = args.map((arg, at) => {
      if (kinds[at] === 'moment' && arg === 'Date') return sample(moment)
      return isKind(arg) ? sample(arg) : sample('Integer')
    })
    const { result } = definition
    const type =
      typeof result === 'function'
        ? result(
            types,
            kinds.map((kind) => (kind === 'fine' ? 'second' : 2n)),
          )
        : result
    const isRepeated = kinds.length === 1 && kinds.includes('common')
    return { definition, arguments: isRepeated ? [...args, ...args] : args, result: findKind(type) }
  })
}

/** A Timestamp and a LocalTimestamp are not compared. */
function isMixed(kinds: readonly ArgumentKind[], args: readonly ArgumentOf[]): boolean {
  const moments = args.filter((_arg, at) => kinds[at] === 'moment')
  return moments.includes('Timestamp') && moments.includes('LocalTimestamp')
}

function listChoices(kind: ArgumentKind, ofTime: boolean): readonly ArgumentOf[] {
  switch (kind) {
    case 'number':
      return ['Integer', 'Decimal', 'Double']
    case 'exact':
      return ['Integer', 'Decimal']
    case 'ordered':
      return ORDERED
    case 'comparable':
    case 'common':
      return COMPARABLE
    case 'any':
      return COLUMN_KINDS
    case 'moment':
      return ['Timestamp', 'LocalTimestamp', 'Date']
    case 'fixed':
      return ['Fixed']
    case 'months':
      return ['bucket']
    case 'part':
      return [ofTime ? 'time-part' : 'part']
    default:
      return [kind]
  }
}

function combinations(choices: readonly (readonly ArgumentOf[])[]): ArgumentOf[][] {
  return choices.reduce<ArgumentOf[][]>((made, next) => made.flatMap((args) => next.map((arg) => [...args, arg])), [[]])
}

export function isKind(argument: ArgumentOf): argument is Kind {
  return COLUMN_KINDS.some((kind) => kind === argument) || INTERVALS.some((kind) => kind === argument)
}

function listKinds(kind: IqlType['kind']): readonly Kind[] {
  if (kind === 'Interval') return INTERVALS
  return COLUMN_KINDS.filter((known) => known === kind)
}

function sample(kind: Kind): IqlType {
  switch (kind) {
    case 'Decimal':
      return decimal(9, 2)
    case 'Fixed':
      return FIXED_INTERVAL
    case 'Months':
      return INTERVAL
    default:
      return { kind }
  }
}

function findKind(type: IqlType): Kind {
  if (type.kind === 'Interval') return type.months ? 'Months' : 'Fixed'
  if (type.kind === 'Null') throw new Error('No function has the type Null')
  return type.kind
}

function operatorIds(): OperatorId[] {
  return Object.keys(OPERATORS).filter((id): id is OperatorId => id in OPERATORS)
}

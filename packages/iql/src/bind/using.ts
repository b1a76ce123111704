/** JOIN … USING: the columns of the name on both sides become one, which an unqualified name refers to. */
import { didYouMean } from '../errors/did-you-mean.ts'
import type { Binding } from '../scope/binding.ts'
import { Scope, type ScopeSource } from '../scope/scope.ts'
import type { ColumnRef, Expression, JoinKind, Name } from '../syntax/ast-query.ts'
import { firstDuplicate } from '../syntax/names.ts'

/** What one side of a join introduces. */
interface Side {
  readonly entries: readonly ScopeSource[]
  readonly merged?: Scope['merged']
  readonly star?: readonly ColumnRef[] | undefined
}

interface JoinedNames {
  readonly merged: Scope['merged']
  readonly star: readonly ColumnRef[] | undefined
}

/** The names of both sides, where the join itself merges none. */
export function joinedNames(left: Side, right: Side): JoinedNames {
  const isPlain = left.star === undefined && right.star === undefined
  return { merged: combineMerged(left, right), star: isPlain ? undefined : [...expandStar(left), ...expandStar(right)] }
}

/** The names of both sides with the columns of USING merged, and the condition of the join. */
export function mergeColumns(
  binding: Binding,
  left: Side,
  right: Side,
  join: JoinKind,
  names: readonly Name[],
): JoinedNames & { readonly on: Expression } {
  const twice = firstDuplicate(names, ({ text }) => text)
  if (twice !== undefined) throw binding.fail('DuplicateColumn', twice.at, `USING names ${twice.text} twice`)
  const merged = new Map(combineMerged(left, right))
  const pairs = names.map((name) => {
    const [a, b] = [findOnlyColumn(binding, left, name, 'left'), findOnlyColumn(binding, right, name, 'right')]
    const [shown, other] = join === 'right' ? [b, a] : [a, b]
    other.source.hidden ??= new Set()
    other.source.hidden.add(name.text.toLowerCase())
    if (join === 'full') merged.set(name.text.toLowerCase(), coalesce(name, [a.value, b.value]))
    else merged.delete(name.text.toLowerCase())
    if (shown.value.kind !== 'column') merged.set(name.text.toLowerCase(), shown.value)
    return { name: { ...name, text: shown.spelling }, left: a.value, right: b.value }
  })
  const isNear = join === 'asof' || join === 'asof-left'
  const conditions = pairs.map((pair, index): Expression => {
    // Of ASOF JOIN the last is the time: the latest row of the right side that is not later.
    const operator = isNear && index === pairs.length - 1 ? '>=' : '='
    return { kind: 'binary', operator, left: pair.left, right: pair.right, at: pair.name.at }
  })
  const on = conditions.reduce((all, each) => ({ kind: 'binary', operator: 'and', left: all, right: each, at: 0 }))
  const keys = new Set(names.map(({ text }) => text.toLowerCase()))
  const rest = [...expandStar(left), ...expandStar(right)].filter(({ name }) => !keys.has(name.text.toLowerCase()))
  const star = [...pairs.map(({ name }): ColumnRef => ({ kind: 'column', table: undefined, name })), ...rest]
  return { on, merged, star }
}

function combineMerged(left: Side, right: Side): Scope['merged'] {
  return new Map([...(left.merged ?? []), ...(right.merged ?? [])])
}

function expandStar({ star, entries }: Side): readonly ColumnRef[] {
  if (star !== undefined) return star
  return entries.flatMap((source) =>
    source.columns.map(
      ({ name }): ColumnRef => ({ kind: 'column', table: { text: source.name, at: 0 }, name: { text: name, at: 0 } }),
    ),
  )
}

/** The only column of the name on one side. */
function findOnlyColumn(binding: Binding, side: Side, name: Name, where: 'left' | 'right') {
  const scope = new Scope(undefined)
  scope.sources.push(...side.entries)
  const [found, another] = scope.candidates(undefined, name.text)
  if (found === undefined) {
    const known = side.entries.flatMap(({ columns }) => columns.map((column) => column.name))
    const hint = didYouMean(name.text, known)
    throw binding.fail('UnknownColumn', name.at, `The ${where} side of the join has no column ${name.text}`, { hint })
  }
  if (another !== undefined) {
    const options = [found, another].map(({ source }) => `${source.name}.${name.text}`).join(' or ')
    throw binding.fail('AmbiguousColumn', name.at, `${name.text} of the ${where} side could be ${options}`, {
      hint: 'write ON',
    })
  }
  const { source, column } = found
  const table = { text: source.name, at: name.at }
  const plain: Expression = { kind: 'column', table, name: { text: column.name, at: name.at } }
  return { source, spelling: column.name, value: side.merged?.get(name.text.toLowerCase()) ?? plain }
}

function coalesce({ at }: Name, values: readonly Expression[]): Expression {
  const plain = { star: false, distinct: false, orderBy: [], filter: undefined, over: undefined }
  return { kind: 'call', name: { text: 'coalesce', at }, arguments: values, ...plain }
}

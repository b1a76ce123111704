/** Binds the items of SELECT and RETURNING, and names the columns of the result. */
import type { SelectItem } from './ast.ts'
import type { Expression } from './ast-expression.ts'
import { bindExpression } from './bind-expression.ts'
import type { Binding } from './binding.ts'
import type { OutputItem } from './bound.ts'
import type { BoundExpression } from './bound-expression.ts'
import { didYouMean } from './did-you-mean.ts'
import type { Scope, ScopeSource } from './scope.ts'

export function bindItems(binding: Binding, scope: Scope, items: readonly SelectItem[]): OutputItem[] {
  const outputs: OutputItem[] = []
  for (const item of items) {
    if (item.kind === 'all') outputs.push(...bindAll(binding, scope, item))
    else {
      const expression = bindExpression(binding, scope, item.expression)
      const name = item.alias?.text ?? nameOf(item.expression, expression) ?? `column${outputs.length + 1}`
      outputs.push({ name, expression })
    }
  }
  return outputs
}

/** `*` is every column of every source, `t.*` those of one. */
function bindAll(binding: Binding, scope: Scope, { table, at }: Extract<SelectItem, { kind: 'all' }>): OutputItem[] {
  const names = scope.sources.map(({ name }) => name)
  if (table !== undefined && scope.source(table.text) === undefined) {
    throw binding.fail('UnknownTable', table.at, `Nothing in FROM is named ${table.text}`, {
      expected: names,
      hint: didYouMean(table.text, names),
    })
  }
  if (names.length === 0) throw binding.fail('Syntax', at, '* needs a FROM')
  const sources = scope.sources.filter(
    ({ name }) => table === undefined || name.toLowerCase() === table.text.toLowerCase(),
  )
  return sources.flatMap((source) => columnsOf(binding, scope, source, at))
}

function columnsOf(binding: Binding, scope: Scope, source: ScopeSource, at: number): OutputItem[] {
  return source.columns.map(({ name }) => {
    const column: Expression = { kind: 'column', table: { text: source.name, at }, name: { text: name, at } }
    return { name, expression: bindExpression(binding, scope, column) }
  })
}

/** A column keeps its own spelling, a call is named after its function. */
function nameOf(written: Expression, bound: BoundExpression): string | undefined {
  switch (written.kind) {
    case 'column':
      return columnName(bound) ?? written.name.text
    case 'call':
      return written.name.text.toLowerCase()
    case 'cast':
      return written.operand.kind === 'column' ? written.operand.name.text : undefined
    case 'case':
    case 'exists':
      return written.kind
    case 'subquery':
      return bound.kind === 'scalar-query' ? bound.query.columns[0]?.name : undefined
    default:
      return undefined
  }
}

function columnName(bound: BoundExpression): string | undefined {
  if (bound.kind === 'group-key') return columnName(bound.expression)
  return bound.kind === 'column' ? bound.name : undefined
}

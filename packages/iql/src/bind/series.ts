/** Binds a function in FROM. Its arguments are values: they see no columns. */

import type { SeriesSource } from '../bound/bound-query.ts'
import { didYouMean } from '../errors/did-you-mean.ts'
import { tableFunctionNames, tableFunctionsNamed } from '../functions/functions.ts'
import type { Binding } from '../scope/binding.ts'
import { CLAUSES, Scope } from '../scope/scope.ts'
import type { Call, FunctionTable } from '../syntax/ast-query.ts'
import { INTEGER } from '../types/types.ts'
import { matchArguments } from './arguments.ts'
import { literal } from './literal.ts'

export function bindSeries(binding: Binding, written: FunctionTable): SeriesSource {
  const { name, arguments: args, alias } = written
  const definitions = tableFunctionsNamed(name.text.toLowerCase())
  if (definitions.length === 0) {
    throw binding.fail('UnknownFunction', name.at, `There is no function ${name.text} for FROM`, {
      hint: didYouMean(name.text.toLowerCase(), tableFunctionNames()),
    })
  }
  const plain = { star: false, distinct: false, orderBy: [], filter: undefined, over: undefined }
  const call: Call = { kind: 'call', name, arguments: args, ...plain }
  const matched = matchArguments(binding, new Scope(undefined, CLAUSES.from), call, definitions)
  const { definition, type } = matched
  if (definition.kind !== 'table') throw new Error(`${definition.id} is not for FROM`)
  const [start, stop, step = literal(INTEGER, 1n), zone] = matched.arguments
  if (start === undefined || stop === undefined) throw new Error(`${definition.id} without arguments`)
  const column = { name: (written.column ?? alias)?.text ?? name.text.toLowerCase(), type, nullable: false }
  return { kind: 'series', id: binding.nextSource(), function: definition.id, start, stop, step, zone, column }
}

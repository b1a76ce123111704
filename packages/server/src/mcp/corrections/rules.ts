/** What is suggested instead of a statement that fails, by the code of its error: the most probable first. */
import { correctCall, useNearest, writeText } from './expressions.ts'
import type { Rule } from './mistake.ts'
import { correctColumn, correctTable, qualify } from './names.ts'
import * as syntax from './syntax.ts'
import * as types from './types.ts'

/** What is given besides the statement is at fault. */
const unchanged: Rule = ({ pieces }) => [pieces.statement]

export const RULES: ReadonlyMap<string, readonly Rule[]> = new Map<string, readonly Rule[]>([
  ['Syntax', [useNearest, syntax.replaceSymbol, syntax.replaceForeign, syntax.removeComma, syntax.completeSelect]],
  ['UnknownColumn', [useNearest, writeText, syntax.moveToClause, syntax.repeatOutput, correctColumn]],
  ['UnknownTable', [useNearest, correctTable]],
  ['UnknownFunction', [correctCall, useNearest]],
  ['UnknownType', [useNearest]],
  ['BadType', [types.completeType]],
  ['AmbiguousColumn', [qualify]],
  ['DuplicateColumn', [syntax.addAlias]],
  ['NotGrouped', [syntax.group]],
  ['MisplacedAggregate', [syntax.moveToClause]],
  ['MisplacedWindow', [syntax.completeWindow, syntax.moveToClause]],
  ['BadOrder', [syntax.orderGroups]],
  ['BadJoin', [syntax.compareTimes]],
  ['BadArguments', [types.castArgument, correctCall, useNearest, syntax.completeWindow]],
  ['TypeMismatch', [types.changeOperand]],
  ['BadLiteral', [types.rewriteTime]],
  ['MissingParameter', [types.writeParameter]],
  ['BadValue', [types.writeParameter]],
  ['UnknownParameter', [unchanged]],
  ['Request.BadCursor', [unchanged]],
  ['ParameterType', [types.castParameter]],
  ['DivisionByZero', [types.guardDivisors]],
  ['ManyRows', [syntax.searchInQuery]],
  ['NotLive', [syntax.addOrder, unchanged]],
])

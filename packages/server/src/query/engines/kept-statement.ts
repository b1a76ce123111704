/** A statement of a materialized view: each of its values is known, but the position of the table and the values of a group. */
import { type Bind, boundParameter, type EmittedSql, type PlanParameter } from './emit/parameters.ts'
import type { KeptSlot, KeptStatement } from './kept-engine.ts'

export function toKeptStatement({ sql, parameters, shared }: EmittedSql, bind: Bind): KeptStatement {
  const slot = (parameter: PlanParameter): KeptSlot => toSlot(parameter, bind)
  return {
    sql,
    parameters: parameters.map(slot),
    shared: shared === undefined ? [] : Array.from(shared, ([name, parameter]) => [name, slot(parameter)] as const),
  }
}

function toSlot(parameter: PlanParameter, bind: Bind): KeptSlot {
  const { source } = parameter
  if (source.kind === 'since') return { kind: 'position' }
  if (source.kind === 'parameter') return { kind: 'group', index: source.index }
  return { kind: 'value', value: boundParameter(parameter, NO_VALUES, bind) }
}

const NO_VALUES = {
  parameters: [],
  subject: '',
  username: undefined,
  clientId: '',
  roles: [],
  scopes: new Set<string>(),
  milliseconds: 0,
}

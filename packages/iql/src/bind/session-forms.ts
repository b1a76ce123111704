/** Binds the functions that say where a statement runs and for whom, and to_timestamp. */
import { VERSION } from 'gatehouse-protocol'
import type { BoundExpression } from '../bound/bound-query.ts'
import type { Binding } from '../scope/binding.ts'
import type { Scope } from '../scope/scope.ts'
import type { Call, Expression } from '../syntax/ast-query.ts'
import { TEXT, TIMESTAMP } from '../types/types.ts'
import { literal, readLiteral } from './literal.ts'

/** The one database and the one schema, as tools see them. */
const DATABASE = 'gatehouse'
const SCHEMA = 'public'

/** PostgreSQL's name comes first, since drivers read it there. */
export function bindVersion(binding: Binding, _scope: Scope, call: Call): BoundExpression {
  noArguments(binding, call)
  return literal(TEXT, `PostgreSQL 15.0 (Gatehouse ${VERSION})`)
}

export function bindDatabase(binding: Binding, _scope: Scope, call: Call): BoundExpression {
  noArguments(binding, call)
  return literal(TEXT, DATABASE)
}

export function bindSchema(binding: Binding, _scope: Scope, call: Call): BoundExpression {
  noArguments(binding, call)
  return literal(TEXT, SCHEMA)
}

/** The caller's user name, or the name of a client that acts for itself. */
export function bindCurrentUser(binding: Binding, _scope: Scope, call: Call): BoundExpression {
  noArguments(binding, call)
  binding.usesClaims = true
  const claims = (['username', 'client_id'] as const).map(
    (claim) => ({ kind: 'claim', claim, type: TEXT, nullable: true }) as const,
  )
  return { kind: 'coalesce', arguments: claims, type: TEXT, nullable: true }
}

/**
 * to_timestamp(seconds) is the start of 1970 and that many seconds. With a text and a form it reads a literal, in the forms that
 * dashboards write.
 */
export function bindToTimestamp(binding: Binding, scope: Scope, { name, arguments: args }: Call): BoundExpression {
  const { at } = name
  const [first, form] = args
  if (first === undefined || args.length > 2)
    throw binding.fail('BadArguments', at, 'to_timestamp takes the seconds since 1970')
  if (form === undefined) return binding.expression(scope, afterEpoch(first, at))
  if (first.kind !== 'text' || form.kind !== 'text' || !FORMS.has(form.value))
    throw binding.fail('BadArguments', at, 'to_timestamp takes a literal and one of its forms', {
      hint: `write CAST(x AS Timestamp), or one of ${[...FORMS].map((each) => `'${each}'`).join(', ')}`,
    })
  return readLiteral(binding, TIMESTAMP, first.value, first.at)
}

const FORMS: ReadonlySet<string> = new Set(['YYYY-MM-DD HH24:MI:SS.US', 'YYYY-MM-DD HH24:MI:SS', 'YYYY-MM-DD'])

/** TIMESTAMP '1970-01-01' + INTERVAL '1 microsecond' * CAST(seconds * 1000000 AS Integer) */
function afterEpoch(seconds: Expression, at: number): Expression {
  const micros = {
    kind: 'binary',
    operator: '*',
    left: seconds,
    right: { kind: 'number', text: '1000000', at },
    at,
  } as const
  const whole = { kind: 'cast', operand: micros, type: { name: { text: 'Integer', at }, arguments: [] }, at } as const
  const unit = { kind: 'typed', type: 'Interval', value: '1 microsecond', at } as const
  const span = { kind: 'binary', operator: '*', left: unit, right: whole, at } as const
  const epoch = { kind: 'typed', type: 'Timestamp', value: '1970-01-01T00:00:00Z', at } as const
  return { kind: 'binary', operator: '+', left: epoch, right: span, at }
}

function noArguments(binding: Binding, { name, arguments: args }: Call): void {
  if (args.length > 0) throw binding.fail('BadArguments', name.at, `${name.text} takes no arguments`)
}

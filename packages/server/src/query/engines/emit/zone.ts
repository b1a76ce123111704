/** Emits a time zone. */
import { type BoundExpression, TEXT } from 'gatehouse-iql'
import type { Sql } from './dialect.ts'
import type { Emission } from './emission.ts'

/** The binder lets only literals and parameters through. */
export function emitZone(name: BoundExpression, { dialect, placeholders }: Emission): Sql {
  if (name.kind !== 'literal' && name.kind !== 'parameter') throw new Error('A time zone that is not given')
  return dialect.zone((part) => placeholders.of({ kind: 'zone', name, part }, TEXT))
}

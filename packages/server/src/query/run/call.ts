/** A statement with everything it needs to run, and the result of a run. */

import type { IqlValue } from 'gatehouse-iql'
import type { Audit, Clock, Principal } from 'gatehouse-protocol'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { RunValues } from '../engines/emit/slots.ts'
import type { Engine, IdempotencyKey, ReadLimits, ReadOutcome, Stoppable, WholeRead } from '../engines/engine.ts'
import type { Planned, Planner } from '../plan/planner.ts'
import { visibleViews } from '../plan/rights.ts'
import type { TextEncoders } from '../results/encoders.ts'
import type { Cell, Encoding } from '../results/encoding.ts'
import type { AuditTable } from './audit-table.ts'

export interface ExecutionEnv {
  readonly engine: Engine
  readonly catalogue: Catalogue
  readonly planner: Planner
  readonly clock: Clock
  readonly audit: Audit
  readonly auditTable: AuditTable
}

export interface Call {
  readonly principal: Principal
  readonly requestId: string
  readonly address: string
  readonly planned: Planned
  /** One set of values for each time the statement runs. Only bulk inserts have several. */
  readonly valueSets: readonly (readonly IqlValue[])[]
  readonly encoding: Encoding
  readonly limits: ReadLimits
  readonly idempotencyKey?: IdempotencyKey | undefined
  /** Rows of a bulk insert that name other columns than the first ones. */
  readonly further?: readonly { readonly planned: Planned; readonly valueSets: Call['valueSets'] }[]
}

/** A call that is running and can be stopped. */
export interface Run extends Call {
  readonly running: Stoppable
}

export type Result =
  /** The encoded rows, without the trailer, in chunks. */
  | { readonly kind: 'stream'; readonly chunks: AsyncGenerator<Uint8Array, ReadOutcome, void> }
  /** The encoded rows, without the trailer, of a small result. */
  | { readonly kind: 'whole'; readonly read: WholeRead }
  /** The few rows that a write or an introspection statement returns. */
  | {
      readonly kind: 'rows'
      readonly encoders: TextEncoders
      readonly rows: readonly (readonly Cell[])[]
      readonly rowsAffected?: number
      readonly isTruncated: boolean
    }

export function runValues(call: Call, values: readonly IqlValue[], env: ExecutionEnv): RunValues {
  const { subject, username, clientId, roles, scopes } = call.principal
  const { literals, snapshot } = call.planned
  return {
    parameters: values,
    literals,
    subject,
    username,
    clientId,
    roles,
    scopes,
    views: () => visibleViews(snapshot, scopes),
    milliseconds: env.clock(),
  }
}

/** Runs a bulk insert whose rows are in a spool file, as `run` runs statements: step-up, attributes, engine. */
import type { Principal } from 'gatehouse-protocol'
import type { RunValues } from '../engines/emit/parameters.ts'
import type { BulkRequest, BulkStatements, WriteReply } from '../engines/engine.ts'
import type { Planned } from '../plan/planner.ts'
import { callOwner, type ExecutionEnv, type QueryCall, requireStepUp, runValues, withAttributes } from './call.ts'

/** `planned` has the rights and the demands of all rows. */
export interface RowsCall {
  readonly principal: Principal
  readonly requestId: string
  readonly address: string
  readonly planned: Planned
}

/** Refuses rows that the caller may not insert, before they are read. */
export function permitRows(call: RowsCall, env: Pick<ExecutionEnv, 'stepUp'>): void {
  requireStepUp(toCall(call), env)
}

/** `statements`: with the values that all rows share. */
export async function insertRows(
  call: RowsCall,
  request: Omit<BulkRequest, 'owner' | 'statements'>,
  statements: (given: RunValues) => BulkStatements,
  env: ExecutionEnv,
): Promise<WriteReply> {
  permitRows(call, env)
  const ready = await withAttributes(toCall(call), env)
  const given = { ...runValues(ready, [], env), literals: [] }
  return env.engine.bulk({ ...request, owner: callOwner(call.principal), statements: statements(given) })
}

function toCall(call: RowsCall): QueryCall {
  return {
    ...call,
    rights: call.principal,
    valueSets: [[]],
    encoding: { format: 'json', rows: 'objects', integers: 'numbers' },
    limits: { rows: 0, bytes: 0, skip: 0 },
  }
}

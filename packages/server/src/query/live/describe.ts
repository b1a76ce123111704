/** What a statement would be as a live one, for a caller who does not subscribe yet. */
import { Refusal } from 'gatehouse-protocol'
import type { AttributeSource } from '../catalogue/attributes.ts'
import type { Copies, TableLicences } from '../catalogue/licences.ts'
import { refuse } from '../errors.ts'
import { whenPlanned } from '../plan/long-plans.ts'
import { callOwner } from '../run/call.ts'
import { CallerRights, refuseUnknown } from '../run/licensed.ts'
import type { LiveDescription, LiveQueries } from './contract.ts'
import { planTarget, type TargetEnv } from './target.ts'
import { digestVisibility } from './visibility.ts'

export interface DescribeEnv extends TargetEnv {
  readonly attributes: Pick<AttributeSource, 'currentValues'>
  readonly licences: TableLicences
  readonly copies: Copies
}

type DescribeRequest = Parameters<LiveQueries['describe']>[0]

export async function describeLive(request: DescribeRequest, env: DescribeEnv): Promise<LiveDescription> {
  try {
    return await describe(request, env)
  } catch (error) {
    // To a caller a table that may not be read is unknown. What runs for a caller knows that it was there.
    const isUnknown = error instanceof Refusal && error.code === 'IQL.UnknownTable'
    if (request.kind === 'alert' && isUnknown && wouldBind(request, env)) throw missingScope()
    throw error
  }
}

export function missingScope(): Refusal {
  return refuse('Auth.MissingScope', 'You are no longer allowed to read the tables of this statement')
}

async function describe(request: DescribeRequest, env: DescribeEnv): Promise<LiveDescription> {
  const { principal, statement } = request
  const { planner, catalogue, attributes, licences } = env
  await planner.planAhead(callOwner(principal), principal, catalogue.snapshot, statement)
  const values = await attributes.currentValues(principal)
  const rights = new CallerRights({ principal, address: '', way: 'live' }, licences)
  const licensed = licences.version === 0 ? undefined : rights
  const [target, snapshot] = await whenPlanned(() => {
    const now = catalogue.snapshot
    return [planTarget(request, principal, now, env, values, licensed), now] as const
  })
  const { plan, stepUp } = target
  // An alert would take them for gone.
  if (request.kind === 'alert') refuseUnknown(plan.tables, env.copies)
  return {
    columns: plan.statement.columns,
    keyNames: plan.keyNames,
    needsSignIn: stepUp !== undefined,
    visibility: digestVisibility(plan.tables, { principal, values }, { snapshot, copies: env.copies }),
  }
}

/** For a caller who may read every table. */
function wouldBind({ statement }: DescribeRequest, { planner, catalogue: { snapshot } }: DescribeEnv): boolean {
  const scopes = new Set([...snapshot.tables()].flatMap(({ name }) => [...snapshot.readScopes(name)]))
  try {
    planner.planWithLiterals({ scopes }, snapshot, statement)
    return true
  } catch {
    return false
  }
}

/** The steps of PostgreSQL's own plan, with the rows that each returned and the time it took. */
import type { MeasuredStep, ReadRun, Stoppable } from '../engine.ts'
import { toFailure } from './failure.ts'
import { type Acquire, borrow } from './pool.ts'

const OPTIONS = 'ANALYZE, COSTS OFF, BUFFERS OFF, SUMMARY OFF, FORMAT JSON'

/** A node of the plan; of its members only these are shown, which are no conditions and no values. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Actual Total Time'?: number
  readonly 'Actual Loops'?: number
  readonly Plans?: readonly PlanNode[]
}

/** Runs the statement again. No steps if statements of others had to run first. */
export async function measureSteps(
  acquire: Acquire,
  sql: string,
  { owner, parameters }: ReadRun,
  running: Stoppable,
): Promise<readonly MeasuredStep[]> {
  const { client, slot, giveBack } = await borrow(acquire, { owner, statement: sql, isLong: true }, running)
  try {
    const { rows } = await client.query({ text: `EXPLAIN (${OPTIONS}) ${sql}`, values: [...parameters] })
    const plan: unknown = rows[0]?.['QUERY PLAN']
    const [{ Plan }] = (typeof plan === 'string' ? JSON.parse(plan) : plan) as [{ readonly Plan: PlanNode }]
    return flattenSteps(Plan, 0)
  } catch (error) {
    if (slot.isPreempted) return []
    throw toFailure(error, running.signal)
  } finally {
    await giveBack()
  }
}

function flattenSteps(node: PlanNode, depth: number): readonly MeasuredStep[] {
  const loops = node['Actual Loops'] ?? 0
  const relation = node['Relation Name']
  return [
    {
      depth,
      name: `${node['Node Type'].toLowerCase()}${relation === undefined ? '' : ` of ${relation}`}`,
      // Both are averages of all loops.
      rows: Math.round((node['Actual Rows'] ?? 0) * loops),
      milliseconds: (node['Actual Total Time'] ?? 0) * loops,
    },
    ...(node.Plans ?? []).flatMap((child) => flattenSteps(child, depth + 1)),
  ]
}

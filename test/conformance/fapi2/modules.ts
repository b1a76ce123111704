/** Runs the FAPI 2.0 modules of a plan on a provider. */
import { after, before, test } from 'node:test'
import { discoveryModules, readMetadata } from './discovery-modules.ts'
import { dpopModules } from './dpop-modules.ts'
import { flowModules } from './flow-modules.ts'
import { closeConnections } from './http.ts'
import { type Bench, createBench } from './party.ts'
import type { Plan, Target } from './plan.ts'
import { requestModules } from './request-modules.ts'
import { tokenModules } from './token-modules.ts'

/** The modules that differ by what the plan is about: requests and responses. */
const requestAndResponse = [...discoveryModules, ...flowModules, ...requestModules]
const modules = [...requestAndResponse, ...dpopModules, ...tokenModules]

export const fapiModuleIds: readonly string[] = modules.map(({ id }) => id)

/** For the suite of a plan: call it inside `describe`. In part, proofs and tokens are left to another plan. */
export function testPlan(plan: Plan, target: () => Target, extent: 'whole' | 'part' = 'whole'): void {
  let bench: Bench
  before(async () => {
    bench = createBench(target(), plan, await readMetadata(target().issuer, plan))
  })
  after(closeConnections)
  for (const { id, isIn = withAuthorization, run } of extent === 'whole' ? modules : requestAndResponse) {
    if (!isIn(plan)) continue
    test(id, async (t) => {
      const reason = target().lacks(id, plan)
      if (reason !== undefined) return t.skip(reason)
      await run(bench)
    })
  }
}

function withAuthorization({ credentials }: Plan): boolean {
  return !credentials
}

/** The FAPI 2.0 plans of the certification suite on our server, over https: on SQLite, in long runs on PostgreSQL too. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { trustedCertificate } from '../../support/certificate.ts'
import { IS_LONG_RUN, onEveryEngineInLongRuns } from '../../support/engines.ts'
import { startFapiServer } from '../../support/providers/gatehouse-fapi.ts'
import { readMetadata } from './discovery-modules.ts'
import { grantTokens } from './flow.ts'
import { testPlan } from './modules.ts'
import { createBench } from './party.ts'
import { PLANS, type Target } from './plan.ts'

const { oauth, openid, credentials, jarm, signed } = PLANS

// In short runs the plan without signatures covers proofs and tokens, and the one with JARM what is signed.
const complete = IS_LONG_RUN ? [openid, jarm, signed] : [jarm]

for (const [discovery, plans] of [
  ['exact', [oauth, credentials]],
  ['complete', complete],
] as const) {
  onEveryEngineInLongRuns(`FAPI 2.0 with discovery ${discovery}`, (place) => {
    let target: Target
    before(async () => {
      target = await startFapiServer(place(), { plans, certificate: trustedCertificate(), discovery })
    })
    after(() => target?.stop())
    for (const plan of plans) {
      const extent = plan === jarm && !IS_LONG_RUN ? 'part' : 'whole'
      describe(plan.name, () => testPlan(plan, () => target, extent))
    }
    if (discovery === 'complete')
      test('the ID token names the session to a client that is told of logouts, and to no other', async () => {
        const bench = createBench(target, jarm, await readMetadata(target.issuer, jarm))
        const [first, second] = [await grantTokens(bench, bench.party), await grantTokens(bench, bench.otherParty)]
        assert.equal(first.idToken?.sid, undefined)
        assert.equal(typeof second.idToken?.sid, 'string')
      })
  })
}

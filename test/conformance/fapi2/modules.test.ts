/** The FAPI 2.0 plans of the certification suite on our server, over https: on SQLite, in long runs on PostgreSQL too. */
import { after, before, describe } from 'node:test'
import { trustedCertificate } from '../../support/certificate.ts'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { startFapiServer } from '../../support/providers/gatehouse-fapi.ts'
import { testPlan } from './modules.ts'
import { PLANS, type Target } from './plan.ts'

const { oauth, openid, credentials, jarm, signed } = PLANS

for (const [discovery, plans] of [
  ['exact', [oauth, credentials]],
  ['complete', [openid, jarm, signed]],
] as const) {
  onEveryEngineInLongRuns(`FAPI 2.0 with discovery ${discovery}`, (place) => {
    let target: Target
    before(async () => {
      target = await startFapiServer(place(), { plans, certificate: trustedCertificate(), discovery })
    })
    after(() => target?.stop())
    for (const plan of plans) describe(plan.name, () => testPlan(plan, () => target))
  })
}

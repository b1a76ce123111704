/** The FAPI 2.0 modules on a certified provider, in `npm run test:all`: a failure here is an error in the tests. */
import { after, before, describe } from 'node:test'
import { trustedCertificate } from '../../support/certificate.ts'
import { IS_LONG_RUN } from '../../support/engines.ts'
import { startCertifiedFapi } from '../../support/providers/certified-fapi.ts'
import { testPlan } from './modules.ts'
import { PLANS, type Target } from './plan.ts'

describe('FAPI 2.0 calibration on oidc-provider', { skip: !IS_LONG_RUN && 'runs in npm run test:all' }, () => {
  for (const plan of Object.values(PLANS)) {
    describe(plan.name, () => {
      let target: Target
      before(async () => {
        target = await startCertifiedFapi(plan, trustedCertificate())
      })
      after(() => target?.stop())
      testPlan(plan, () => target)
    })
  }
})

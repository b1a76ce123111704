/** The conformance tests on a certified provider, in `npm run test:all`: a failure here is an error in the tests. */
import { after, before, describe } from 'node:test'
import { trustedCertificate } from '../support/certificate.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { startCertified } from '../support/providers/certified.ts'
import type { Provider } from '../support/providers/provider.ts'
import { type RelyingParty, startRelyingParty } from '../support/relying-party.ts'
import { testChecklist } from './checklist.ts'
import { testModules } from './modules.ts'

describe('calibration on oidc-provider', { skip: !IS_LONG_RUN && 'runs in npm run test:all' }, () => {
  let provider: Provider
  let relyingParty: RelyingParty
  before(async () => {
    const certificate = trustedCertificate()
    relyingParty = await startRelyingParty({ certificate })
    provider = await startCertified({ certificate, backchannelUri: `${relyingParty.origin}/backchannel_logout` })
  })
  after(async () => {
    await provider?.stop()
    await relyingParty?.stop()
  })
  testModules({ provider: () => provider, relyingParty: () => relyingParty, formPost: true })
  testChecklist(() => provider, true)
})

/** The modules of the certification plans on our server, over https, on every database. */
import { after, before } from 'node:test'
import { trustedCertificate } from '../support/certificate.ts'
import { inLongRuns } from '../support/engines.ts'
import { planDeclaration, startGatehouse } from '../support/providers/gatehouse.ts'
import type { Provider } from '../support/providers/provider.ts'
import { type RelyingParty, startRelyingParty } from '../support/relying-party.ts'
import { testModules } from './modules.ts'

inLongRuns('certification modules', (place, engine) => {
  let provider: Provider
  let relyingParty: RelyingParty
  before(async () => {
    const certificate = trustedCertificate()
    relyingParty = await startRelyingParty({ certificate })
    const declaration = planDeclaration(`${relyingParty.origin}/backchannel_logout`)
    provider = await startGatehouse(place(), { declaration, certificate })
  })
  after(async () => {
    await relyingParty?.stop()
    await provider?.stop()
  })
  testModules({ provider: () => provider, relyingParty: () => relyingParty, formPost: engine === 'sqlite' })
})

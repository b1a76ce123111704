/** The protocol and security rows of the checklist on our server, over https, on every database. */
import { after, before } from 'node:test'
import { trustedCertificate } from '../support/certificate.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { planDeclaration, startGatehouse } from '../support/providers/gatehouse.ts'
import type { Provider } from '../support/providers/provider.ts'
import { testChecklist } from './checklist.ts'

onEveryEngineInLongRuns('checklist', (place) => {
  let provider: Provider
  before(async () => {
    const certificate = trustedCertificate()
    provider = await startGatehouse(place(), { declaration: planDeclaration('https://127.0.0.1:1/'), certificate })
  })
  after(() => provider?.stop())
  testChecklist(() => provider, false)
})
